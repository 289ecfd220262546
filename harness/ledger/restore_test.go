package ledger

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lifeOfTask is what happened to a task, as the world knows it and as the ledger does.
type lifeOfTask struct {
	held  bool // by the server, which hands it out
	asked bool // a completion was asked for
	doubt bool // a completion was asked for, and will never be answered

	now, saved ofTask // what the process knows, and what it knew at the last checkpoint
}

type ofTask struct {
	sent      bool
	answer    uint8
	completed bool
}

// world is a server, and harnesses that die one after the other, each with the ledger of the one before.
type world struct {
	tasks      [][]*lifeOfTask // by producer, sequence
	ledger     *Ledger
	checkpoint []byte
	journals   []*bytes.Buffer // since the last checkpoint, or a little longer
	rebooted   bool            // a harness was restored without its journals
	duplicated uint64
	corrupted  uint64
	savedDup   uint64
	savedCor   uint64
}

// save takes a checkpoint, as a harness does each second.
func (w *world) save(t *rapid.T) {
	next := &bytes.Buffer{}
	require.NoError(t, w.ledger.Journal(next))
	w.checkpoint = checkpointOf(t, w.ledger)
	w.journals = []*bytes.Buffer{next}
	w.savedDup, w.savedCor = w.duplicated, w.corrupted
	w.each(func(_ int, _ uint64, task *lifeOfTask) { task.saved = task.now })
}

func (w *world) each(do func(producer int, sequence uint64, task *lifeOfTask)) {
	for p, tasks := range w.tasks {
		for s, task := range tasks {
			do(p, uint64(s), task)
		}
	}
}

// die has the next harness take over from what was saved.
func (w *world) die(t *rapid.T, reboot bool) {
	var journals [][]byte
	if !reboot {
		for _, j := range w.journals {
			journals = append(journals, j.Bytes())
		}
	}
	w.ledger = restored(t, w.checkpoint, journals...)
	w.rebooted = w.rebooted || reboot
	w.duplicated, w.corrupted = w.savedDup, w.savedCor
	w.each(func(_ int, _ uint64, task *lifeOfTask) {
		task.now = task.saved
		if task.now.answer == 0 {
			task.now.answer = unknown
		}
		task.doubt = task.doubt || task.asked
	})
	w.save(t) // before anything is claimed
}

// deliver hands a task out, which is completed. The answer may get lost.
func (w *world) deliver(p int, s uint64, task *lifeOfTask, answered bool) {
	address := NewAddress("t0", "q0")
	id, _ := w.ledger.Claimed(sealed(Identity{Round: testRound, Producer: uint32(p), Sequence: s}, "t0", "q0"), address)
	w.ledger.Completing(id)
	task.asked, task.held = true, false
	if !answered {
		w.ledger.CompletionUnknown(id)
		task.doubt = true
		return
	}
	w.ledger.Completed(id)
	switch {
	case task.now.answer == refused:
		w.corrupted++ // or duplicated, where its page is gone
	case task.now.completed:
		w.duplicated++
	}
	task.now.completed = true
}

// check compares the balance with what can be known.
func (w *world) check(t *rapid.T) {
	var lost uint64
	w.each(func(_ int, _ uint64, task *lifeOfTask) {
		if task.now.answer == acknowledged && !task.now.completed && !task.doubt && !w.rebooted {
			lost++
		}
	})
	got := w.ledger.Balance()
	require.Equal(t, lost, got.Lost)
	require.Equal(t, w.duplicated+w.corrupted, got.Duplicated+got.Corrupted)
	require.LessOrEqual(t, w.duplicated, got.Duplicated)
}

// Whatever the moment of a checkpoint and of the end of a process, what is left never shows a fault that there was not, and a loss, a
// duplicate or a task that was refused is found where the checkpoint and its journal prove it.
func TestRestoredLedgersJudgeWhatCanBeKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const producers = 2
		w := &world{tasks: make([][]*lifeOfTask, producers), ledger: newLedger(producers)}
		w.save(t)
		pick := func(t *rapid.T, which func(*lifeOfTask) bool) (p int, s uint64, task *lifeOfTask) {
			var found []func()
			w.each(func(producer int, sequence uint64, of *lifeOfTask) {
				if which(of) {
					found = append(found, func() { p, s, task = producer, sequence, of })
				}
			})
			if len(found) == 0 {
				t.Skip("there is no such task")
			}
			rapid.SampledFrom(found).Draw(t, "task")()
			return p, s, task
		}
		held := func(task *lifeOfTask) bool { return task.held }
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				if w.ledger.Restored() {
					t.Skip("it takes no new task")
				}
				p := rapid.IntRange(0, producers-1).Draw(t, "producer")
				n := rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, pageTasks)).Draw(t, "n")
				first := w.ledger.Sent(p, n)
				answer := rapid.SampledFrom([]uint8{0, acknowledged, refused, unknown}).Draw(t, "answer")
				arrives := answer == acknowledged || answer != refused && rapid.Bool().Draw(t, "arrives")
				switch answer {
				case acknowledged:
					w.ledger.Enqueued(p, first, n)
				case refused:
					w.ledger.Refused(p, first, n)
				case unknown:
					w.ledger.Unknown(p, first, n)
				}
				for range n {
					w.tasks[p] = append(w.tasks[p], &lifeOfTask{held: arrives, now: ofTask{sent: true, answer: answer}})
				}
			},
			"answer": func(t *rapid.T) {
				p, s, task := pick(t, func(task *lifeOfTask) bool { return task.now.sent && task.now.answer == 0 && (task.held || task.asked) })
				w.ledger.Enqueued(p, s, 1)
				task.now.answer = acknowledged
			},
			"complete": func(t *rapid.T) {
				p, s, task := pick(t, held)
				w.deliver(p, s, task, rapid.Bool().Draw(t, "answered"))
			},
			"complete all": func(*rapid.T) {
				w.each(func(p int, s uint64, task *lifeOfTask) {
					if task.held {
						w.deliver(p, s, task, true)
					}
				})
			},
			"ask in vain": func(t *rapid.T) {
				p, s, task := pick(t, held)
				w.ledger.Completing(Identity{Round: testRound, Producer: uint32(p), Sequence: s})
				task.asked = true
			},
			"the server loses a task": func(t *rapid.T) {
				_, _, task := pick(t, held)
				task.held = false
			},
			"the server brings a task back": func(t *rapid.T) {
				_, _, task := pick(t, func(task *lifeOfTask) bool { return task.now.completed && !task.held })
				task.held = true
			},
			"the server keeps a task that it refused": func(t *rapid.T) {
				_, _, task := pick(t, func(task *lifeOfTask) bool { return task.now.answer == refused && !task.held })
				task.held = true
			},
			"checkpoint": func(t *rapid.T) { w.save(t) },
			"half a checkpoint": func(t *rapid.T) { // the process dies before the next one takes the place of the last
				next := &bytes.Buffer{}
				require.NoError(t, w.ledger.Journal(next))
				w.journals = append(w.journals, next)
			},
			"kill":   func(t *rapid.T) { w.die(t, false) },
			"reboot": func(t *rapid.T) { w.die(t, true) },
			"":       func(t *rapid.T) { w.check(t) },
		})
	})
}
