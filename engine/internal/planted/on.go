//go:build planted

package planted

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/internal/planted/plantedclient"
)

const variable = "PRONY_PLANTED"

// fault is the planted fault. Begin sets it before any other function is called.
var fault struct {
	name   string
	amount amount
}

// amount is the size of a fault. It is either a time or a number of operations, steps or bytes. A
// number applies to each task or command, or to each group of per tasks.
type amount struct {
	time  time.Duration
	count int
	per   int // number of tasks in a group; 0 and 1 mean each task
}

// amounts contains the default amount of each fault. If time is 0, the amount is a number.
var amounts = map[string]amount{
	"lock":    {time: 20 * time.Microsecond},
	"channel": {count: 64},
	"cpu":     {time: 5 * time.Microsecond},
	"alloc":   {count: 64 << 10},
	"fsync":   {count: 1},
	"timer":   {time: 2 * time.Millisecond},
	"rpc":     {time: time.Millisecond},
	"scan":    {count: 2_000},

	"work":       {count: 1_000},
	"background": {count: 1_000},
	"wait":       {time: 3 * time.Microsecond},
	"decay":      {count: 100},

	plantedclient.Fault: {count: 1_000},

	"unary":      {count: 10_000},
	"rest":       {count: 10_000},
	"writes":     {count: 1},
	"leak":       {count: 1 << 10},
	"goroutines": {count: 100},

	Lost:        {count: hitsIn},
	Dropped:     {count: hitsIn},
	Again:       {count: hitsIn},
	Twice:       {count: hitsIn},
	Stranger:    {count: hitsIn},
	Read:        {count: 1},
	List:        {count: 1},
	Stats:       {count: 1},
	Await:       {count: 1},
	Reversed:    {count: hitsIn},
	Flipped:     {count: hitsIn},
	Forgotten:   {count: hitsIn},
	Unsynced:    {count: 1},
	Early:       {count: 1},
	Doubled:     {count: hitsIn},
	Skipped:     {count: hitsIn},
	Uncancelled: {count: hitsIn},
	Relabelled:  {count: hitsIn},
	Hasty:       {count: hitsIn},
}

// hitsIn is the default interval of a fault that makes the engine wrong, in tasks or calls.
const hitsIn = 1_000

// shared is the name of the only fault whose amount may apply to a group of tasks.
const shared = "fsync"

// Begin reads the fault, and the fault of the wall clock, from the environment. It fails if the
// environment names an unknown fault. Without a name, there is no fault. Call it before a node
// opens. It also forgets the receivers that Another has recorded.
func Begin() error {
	others.forget()
	if err := beginClock(); err != nil {
		return err
	}
	name, rest, given := strings.Cut(os.Getenv(variable), ":")
	if name == "" && !given {
		fault.name = ""
		return nil
	}
	a, known := amounts[name]
	if !known {
		var names []string
		for n := range amounts {
			names = append(names, n)
		}
		slices.Sort(names)
		return fmt.Errorf("%s names the fault %q: use one of %s", variable, name, strings.Join(names, ", "))
	}
	if given {
		var err error
		if a, err = parse(name, rest, a.time > 0); err != nil {
			return fmt.Errorf("the amount %q of %s: %w", rest, variable, err)
		}
	}
	fault.name, fault.amount = name, a
	return nil
}

// These limit amounts: a fault must slow down the server, but not stop it.
const (
	timeMax  = time.Second
	countMax = 1 << 24
)

func parse(fault, text string, timed bool) (a amount, err error) {
	if timed {
		a.time, err = time.ParseDuration(text)
		if err == nil && (a.time <= 0 || a.time > timeMax) {
			err = fmt.Errorf("use more than 0 and at most %v", timeMax)
		}
		return a, err
	}
	number, per, divided := strings.Cut(text, "/")
	if divided && fault != shared {
		return a, fmt.Errorf("only %s may be for several tasks", shared)
	}
	if a.count, err = countOf(number); err == nil && divided {
		a.per, err = countOf(per)
	}
	return a, err
}

func countOf(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New("it is not a number")
	}
	if n <= 0 || n > countMax {
		return 0, fmt.Errorf("use 1 to %d", countMax)
	}
	return n, nil
}

func is(name string) bool { return fault.name == name }

// IsOneOf reports whether the planted fault has one of the names. Wrappers that allocate memory are
// installed only for their faults, so that other faults do not change the counts of allocations.
func IsOneOf(names ...string) bool { return slices.Contains(names, fault.name) }

// commits is a mutex that each commit locks.
type commits struct{ mu sync.Mutex }

var commit commits

// Command must be called by the deciding goroutine for each command.
func Command() {
	if is("lock") {
		commit.mu.Lock()
		commit.mu.Unlock() //nolint:staticcheck // the fault is the wait for the mutex
	}
}

// Commit must be called by the publishing goroutine for each commit, after it has sent the answers.
// Clients then send further requests during the fault.
func Commit() {
	switch fault.name {
	case "lock":
		commit.mu.Lock()
		burn(fault.amount.time)
		commit.mu.Unlock()
	case "wait":
		commit.mu.Lock()
		commit.mu.Unlock()
	}
}

// sleepMin is the shortest sleep of the fault "wait". A timer fires about 60 us late, which would
// be a large part of a shorter sleep.
const sleepMin = 250 * time.Microsecond

// owed is the time that the fault "wait" must still wait. It is exact only with one shard, since
// the deciding goroutines of all shards change it without a lock.
var owed time.Duration

// wait adds each, the wait of one task, to owed. Once owed reaches sleepMin, it sleeps while
// holding the mutex that publishing needs. If the sleep takes too long, the next tasks wait less.
func (c *commits) wait(each time.Duration) {
	if owed += each; owed < sleepMin {
		return
	}
	c.mu.Lock()
	began := time.Now()
	time.Sleep(sleepMin)
	owed -= time.Since(began)
	c.mu.Unlock()
}

func burn(d time.Duration) {
	x := uint64(1)
	for until := time.Now().Add(d); time.Now().Before(until); {
		for range 64 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
	}
	sink.number = x
}

// sink stores results, so that the compiler does not remove the computation. One goroutine of each
// shard writes to it. With several shards the last value remains; its value does not matter.
var sink struct {
	number uint64
	ring   [1 << 10][]byte
	next   int
}

// pieceBytes is the size of one allocation in bytes.
const pieceBytes = 512

func storm(bytes int) {
	for ; bytes > 0; bytes -= pieceBytes {
		sink.ring[sink.next%len(sink.ring)] = make([]byte, min(bytes, pieceBytes))
		sink.next++
	}
}

// passage is the channel that each command passes.
type passage struct{ one chan struct{} }

var narrow = passage{make(chan struct{}, 1)}

// Send must be called by the deciding goroutine, after it has passed the given number of commands
// to the publishing goroutine.
func Send(commands int) {
	if is("channel") {
		for range commands * fault.amount.count {
			narrow.one <- struct{}{}
		}
	}
}

// Receive must be called by the publishing goroutine before it answers each command.
func Receive() {
	if is("channel") {
		for range fault.amount.count {
			<-narrow.one
		}
	}
}

// BeforeCommit must be called by the deciding goroutine before it submits a batch.
func BeforeCommit() {
	if is("timer") {
		time.Sleep(fault.amount.time)
	}
}

// Frame must be called for each message of a stream from a client.
func Frame() {
	switch fault.name {
	case "rpc":
		time.Sleep(fault.amount.time)
	case "goroutines":
		leave(frames.Add(1), uint64(fault.amount.count))
	}
}

// Claim must be called for each lease batch. It returns how many tasks before the batch the caller
// must read in addition.
func Claim() uint64 {
	if is("scan") {
		return uint64(fault.amount.count)
	}
	return 0
}
