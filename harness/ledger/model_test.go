package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelTask is the history of a task.
type modelTask struct {
	answer      uint8 // 0 or one of acknowledged, refused, unknown
	completions int
	inDoubt     bool
}

// over reports whether the task is known or assumed to have ended.
func (t *modelTask) over() bool {
	return t.answer == refused || t.answer == unknown || t.completions > 0 || t.inDoubt
}

// end runs do and returns whether it ended the task for the first time.
func (t *modelTask) end(do func()) bool {
	before := t.over()
	do()
	return !before && t.over()
}

// model is a straightforward ledger without a bound on memory.
type model struct {
	tasks   [][]modelTask // by producer, sequence
	foreign uint64
}

type expectation struct {
	sent, enqueued, refused, completed, lost, unknown, outstanding uint64
	duplicated, corrupted, doubtful, inDoubt                       uint64
}

func (m *model) expect() expectation {
	e := expectation{corrupted: m.foreign}
	for _, tasks := range m.tasks {
		e.sent += uint64(len(tasks))
		for _, t := range tasks {
			if t.answer == refused {
				e.refused++
				if t.completions > 0 {
					e.corrupted++
				}
			} else if t.completions > 0 {
				e.completed++
			} else {
				e.outstanding++
				if t.inDoubt || t.answer == unknown {
					e.doubtful++
				}
				if t.inDoubt && t.answer == acknowledged {
					e.inDoubt++
				}
			}
			if t.completions > 1 {
				e.duplicated += uint64(t.completions - 1)
			}
			switch t.answer {
			case acknowledged:
				e.enqueued++
				if t.completions == 0 && !t.inDoubt {
					e.lost++
				}
			case unknown, 0:
				e.unknown++
			}
		}
	}
	return e
}

func TestLedgerAgreesWithModel(t *testing.T) {
	const producers = 2
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger(producers)
		m := &model{tasks: make([][]modelTask, producers)}
		refusedCompleted := false // then a completion may count as duplicated instead of corrupted

		// drawRange draws consecutive tasks of a producer that has sent some.
		drawRange := func(t *rapid.T) (p int, first, n uint64) {
			p = rapid.IntRange(0, producers-1).Draw(t, "producer")
			sent := uint64(len(m.tasks[p]))
			if sent == 0 {
				t.Skip("nothing sent")
			}
			first = rapid.Uint64Range(0, sent-1).Draw(t, "first")
			n = rapid.Uint64Range(1, sent-first).Draw(t, "n")
			return p, first, n
		}
		answer := func(flag uint8, call func(int, uint64, int) int) func(*rapid.T) {
			return func(t *rapid.T) {
				p, first, n := drawRange(t)
				ended := call(p, first, int(n))
				for s := first; s < first+n; s++ {
					if task := &m.tasks[p][s]; task.answer == 0 {
						if task.end(func() { task.answer = flag }) {
							ended--
						}
						refusedCompleted = refusedCompleted || flag == refused && task.completions > 0
					}
				}
				if flag == unknown {
					require.Zero(t, ended, "each task ends once")
				}
			}
		}
		// silent adapts a call that does not return how many tasks end.
		silent := func(call func(int, uint64, int)) func(int, uint64, int) int {
			return func(p int, first uint64, n int) int {
				call(p, first, n)
				return 0
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				p := rapid.IntRange(0, producers-1).Draw(t, "producer")
				n := rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 3*pageTasks)).Draw(t, "n")
				require.Equal(t, uint64(len(m.tasks[p])), l.Sent(p, n))
				m.tasks[p] = append(m.tasks[p], make([]modelTask, n)...)
			},
			"enqueued": answer(acknowledged, silent(l.Enqueued)),
			"refused":  answer(refused, silent(l.Refused)),
			"unknown":  answer(unknown, l.Unknown),
			"complete": func(t *rapid.T) {
				p, first, n := drawRange(t)
				again := rapid.Bool().Draw(t, "also those completed before")
				for s := first; s < first+n; s++ {
					task := &m.tasks[p][s]
					if task.answer == refused || task.completions > 0 {
						if !again {
							continue
						}
						refusedCompleted = refusedCompleted || task.answer == refused
					}
					ended := l.Completed(Identity{Round: testRound, Producer: uint32(p), Sequence: s})
					require.Equal(t, task.end(func() { task.completions++ }), ended == 1)
				}
			},
			"complete in one call": func(t *rapid.T) {
				if len(m.tasks[0]) == 0 || len(m.tasks[1]) == 0 {
					t.Skip("nothing sent") // before anything is noted
				}
				var ids []Identity
				ends := 0
				for range rapid.IntRange(1, 8).Draw(t, "runs") {
					if rapid.IntRange(0, 7).Draw(t, "foreign") == 0 {
						ids = append(ids, Identity{Round: testRound + 1})
						m.foreign++
						continue
					}
					p, first, n := drawRange(t)
					for s := first; s < first+n; s++ {
						task := &m.tasks[p][s]
						refusedCompleted = refusedCompleted || task.answer == refused
						ids = append(ids, Identity{Round: testRound, Producer: uint32(p), Sequence: s})
						if task.end(func() { task.completions++ }) {
							ends++
						}
					}
				}
				require.Equal(t, ends, l.Completed(ids...))
			},
			"settle a page": func(t *rapid.T) {
				p, first, _ := drawRange(t)
				first -= first % pageTasks
				n := min(pageTasks, uint64(len(m.tasks[p]))-first)
				l.Enqueued(p, first, int(n))
				for s := first; s < first+n; s++ {
					task := &m.tasks[p][s]
					if task.answer == 0 {
						task.answer = acknowledged
					}
					if task.answer != refused && task.completions == 0 {
						l.Completed(Identity{Round: testRound, Producer: uint32(p), Sequence: s})
						task.completions++
					}
				}
			},
			"completion in doubt": func(t *rapid.T) {
				p, first, n := drawRange(t)
				for s := first; s < first+n; s++ {
					task := &m.tasks[p][s]
					ended := l.CompletionUnknown(Identity{Round: testRound, Producer: uint32(p), Sequence: s})
					require.Equal(t, task.end(func() { task.inDoubt = true }), ended)
				}
			},
			"completion refused": func(t *rapid.T) {
				p, first, n := drawRange(t)
				for s := first; s < first+n; s++ {
					l.CompletionRefused(Identity{Round: testRound, Producer: uint32(p), Sequence: s})
				}
			},
			"foreign": func(t *rapid.T) {
				p := rapid.IntRange(0, producers-1).Draw(t, "producer")
				beyond := uint64(len(m.tasks[p])) + rapid.Uint64Range(0, 1000).Draw(t, "beyond")
				l.Completed(Identity{Round: testRound, Producer: uint32(p), Sequence: beyond})
				m.foreign++
			},
			"": func(t *rapid.T) {
				want, got, totals := m.expect(), l.Balance(), l.Totals()
				require.Equal(t, want.sent, totals.Sent)
				require.Equal(t, want.refused, totals.Refused)
				require.Equal(t, want.outstanding, totals.Outstanding)
				require.Equal(t, want.doubtful, totals.Doubtful)
				require.Equal(t, want.inDoubt, got.InDoubt)
				require.Equal(t, want.enqueued, got.Enqueued)
				require.Equal(t, want.unknown, got.Unknown)
				require.Equal(t, want.completed, got.Completed)
				require.Equal(t, want.lost, got.Lost)
				require.Equal(t, want.duplicated+want.corrupted, got.Duplicated+got.Corrupted)
				if !refusedCompleted {
					require.Equal(t, want.duplicated, got.Duplicated)
				}
				requirePagesInOrder(t, l)
			},
		})
	})
}

// requirePagesInOrder checks the invariant that find relies on.
func requirePagesInOrder(t *rapid.T, l *Ledger) {
	for i := range l.accounts {
		a := &l.accounts[i]
		for j, p := range a.live {
			require.Less(t, p.settled, pageTasks, "a settled page was kept")
			if j > 0 {
				require.Greater(t, p.index, a.live[j-1].index)
			}
		}
	}
}
