package queue

import (
	"bytes"
	"cmp"
	"slices"
)

// pairEntry is the key of a link or of a Dependency record.
type pairEntry struct {
	ref Ref
	of  ID
}

// messageEntry is the key of a message.
type messageEntry struct {
	to  uint16
	seq uint64
}

// dependencyRecords contains the records about dependencies of a mapJournal.
type dependencyRecords struct {
	waiting      map[Ref]Waiting
	dependencies map[pairEntry]Dependency
	linked       map[Ref]uint32
	links        map[pairEntry]bool
	messages     map[messageEntry]Message
}

func newDependencyRecords() dependencyRecords {
	return dependencyRecords{
		waiting: map[Ref]Waiting{}, dependencies: map[pairEntry]Dependency{}, linked: map[Ref]uint32{}, links: map[pairEntry]bool{},
		messages: map[messageEntry]Message{},
	}
}

func (j *mapJournal) PutWaiting(ref Ref, w Waiting) { j.waiting[ref] = w }

func (j *mapJournal) DropWaiting(ref Ref) {
	if _, ok := j.waiting[ref]; !ok {
		j.broken("what %v waits for is dropped and does not exist", ref)
	}
	delete(j.waiting, ref)
}

func (j *mapJournal) PutDependency(ref Ref, d *Dependency) {
	if _, ok := j.tasks[ref]; !ok {
		j.broken("a dependency of %v is put, which does not exist", ref)
	}
	x := *d
	x.Result = bytes.Clone(d.Result)
	j.dependencies[pairEntry{ref, d.ID}] = x
}

func (j *mapJournal) DropDependency(ref Ref, of ID) {
	if _, ok := j.dependencies[pairEntry{ref, of}]; !ok {
		j.broken("dependency %s of %v is dropped and does not exist", of, ref)
	}
	delete(j.dependencies, pairEntry{ref, of})
}

func (j *mapJournal) PutLinked(ref Ref, links uint32) { j.linked[ref] = links }

func (j *mapJournal) DropLinked(ref Ref) {
	if _, ok := j.linked[ref]; !ok {
		j.broken("the links of %v are dropped and do not exist", ref)
	}
	delete(j.linked, ref)
}

func (j *mapJournal) PutLink(ref Ref, to ID) {
	if j.links[pairEntry{ref, to}] {
		j.broken("the link from %v to %s is put twice", ref, to)
	}
	j.links[pairEntry{ref, to}] = true
}

func (j *mapJournal) DropLink(ref Ref, to ID) {
	if !j.links[pairEntry{ref, to}] {
		j.broken("the link from %v to %s is dropped and does not exist", ref, to)
	}
	delete(j.links, pairEntry{ref, to})
}

func (j *mapJournal) FindLinked(ref Ref) bool {
	_, linked := j.linked[ref]
	return linked
}

func (j *mapJournal) PutMessage(to uint16, m *Message) {
	x := *m
	x.Result = bytes.Clone(m.Result)
	j.messages[messageEntry{to, m.Seq}] = x
}

func (j *mapJournal) DropMessage(to uint16, seq uint64) {
	if _, ok := j.messages[messageEntry{to, seq}]; !ok {
		j.broken("message %d to shard %d is dropped and does not exist", seq, to)
	}
	delete(j.messages, messageEntry{to, seq})
}

// messagesTo returns the messages to a shard in order.
func (j *mapJournal) messagesTo(to uint16) (out []Message) {
	for at, m := range j.messages {
		if at.to == to {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

func (j *mapJournal) outgoing() (to uint32) {
	for at := range j.messages {
		to |= 1 << at.to
	}
	return to
}

// known returns what the journal knows about a message, with at most most links or records.
func (j *mapJournal) known(m *Message, most int) Known {
	k := Known{Waiters: map[ID]bool{}, Outcomes: map[ID]DependencyOutcome{}, Linked: j.linked[m.Ref]}
	for at := range j.links {
		if at.ref == m.Ref {
			k.Waiters[at.of] = true
			if m.Kind == EndedTask && (!m.Begun || m.Of.compare(at.of) < 0) {
				k.Links = append(k.Links, at.of)
			}
		}
	}
	for at, d := range j.dependencies {
		if at.ref == m.Ref {
			k.Outcomes[at.of] = d.Outcome
			if m.Kind == DroppedTask {
				k.Records = append(k.Records, at.of)
			}
		}
	}
	k.Waiting = j.waiting[m.Ref]
	for _, ids := range []*[]ID{&k.Links, &k.Records} {
		slices.SortFunc(*ids, ID.compare)
		if len(*ids) > most {
			*ids, k.More = (*ids)[:most], true
		}
	}
	return k
}

func (id ID) compare(o ID) int {
	return cmp.Or(cmp.Compare(id.Shard, o.Shard), cmp.Compare(id.Queue, o.Queue), cmp.Compare(id.Priority, o.Priority), cmp.Compare(id.Seq, o.Seq))
}
