package ledger

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lifeOfTask is the history of a task: as it really is, and as the ledger knows it.
type lifeOfTask struct {
	held  bool // the server has the task and may deliver it
	asked bool // a completion was requested
	doubt bool // a completion was requested and will never be answered

	now, saved ofTask // what the process knows now, and at the last checkpoint
}

type ofTask struct {
	sent      bool
	answer    uint8
	completed bool
}

// world is a server with a sequence of harness processes. Each restores the ledger of its
// predecessor, which died.
type world struct {
	tasks      [][]*lifeOfTask // by producer, sequence
	ledger     *Ledger
	checkpoint []byte
	journals   []*bytes.Buffer // since the last checkpoint, or slightly earlier
	rebooted   bool            // a harness was restored without its journals
	duplicated uint64
	corrupted  uint64
	savedDup   uint64
	savedCor   uint64
}

// save takes a checkpoint, as a harness does every second.
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

// die starts the next harness from the saved files.
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
	w.save(t) // before any task is claimed
}

// deliver delivers a task, which is completed. The answer may be lost.
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
		w.corrupted++ // or duplicated, if its page was released
	case task.now.completed:
		w.duplicated++
	}
	task.now.completed = true
}

// check compares the balance with the provable faults.
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

// For any time of a checkpoint and of the end of a process, a restored ledger reports no false
// fault. It finds every loss, duplicate and completion of a refused task that the checkpoint and
// its journal prove.
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
				t.Skip("no such task")
			}
			rapid.SampledFrom(found).Draw(t, "task")()
			return p, s, task
		}
		held := func(task *lifeOfTask) bool { return task.held }
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				if w.ledger.Restored() {
					t.Skip("a restored ledger accepts no new tasks")
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
			// The process dies before the next checkpoint replaces the last one.
			"half a checkpoint": func(t *rapid.T) {
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
