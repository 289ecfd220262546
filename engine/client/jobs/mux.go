package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// Handler handles a task of any kind. Handlers of one kind are registered with Kind.Handle;
// middleware sees all kinds.
type Handler func(ctx context.Context, t *queuepb.Task) error

// Middleware wraps a handler, for example to log, to measure, or to change the context. A panic of
// the handler reaches middleware as a *PanicError.
type Middleware func(next Handler) Handler

// Mux has the handler of each kind. Register all handlers before Worker.Run.
type Mux struct{ kinds map[string]*kindHandler }

type kindHandler struct {
	handle  Handler
	timeout time.Duration // 0 means none
}

// NewMux returns a mux without handlers.
func NewMux() *Mux { return &Mux{kinds: map[string]*kindHandler{}} }

func (m *Mux) add(kind string, h *kindHandler) {
	if m.kinds[kind] != nil {
		panic(fmt.Sprintf("jobs: kind %q already has a handler", kind))
	}
	m.kinds[kind] = h
}

// Kinds returns the kinds with a handler, sorted.
func (m *Mux) Kinds() []string { return slices.Sorted(maps.Keys(m.kinds)) }

// of returns the handler of a task. A task of an unknown kind fails with its normal backoff: a newer
// worker may know the kind.
func (m *Mux) of(t *queuepb.Task) *kindHandler {
	kind := KindOf(t)
	if h := m.kinds[kind]; h != nil {
		return h
	}
	return &kindHandler{handle: func(context.Context, *queuepb.Task) error {
		if kind == "" {
			return fmt.Errorf("the task has no header %q", KindHeader)
		}
		return fmt.Errorf("the worker has no handler for kind %q", kind)
	}}
}
