package ui

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// queueView is one queue with a page of its tasks in one state.
type queueView struct {
	*adminpb.Queue

	Depth, Rates, Failing chart
	States                []stateTab
	State, Kind, Header   string // the filter of the tasks
	First                 bool
	Tasks                 []*queuepb.Task
	Finished              []*adminpb.FinishedTask // instead of Tasks, in the state "finished"
	Next                  string
}

// stateTab is the link to the tasks in one state. The number of finished tasks is not known.
type stateTab struct {
	Name    string
	Count   uint64
	Counted bool
	Current bool
}

const finishedState = "finished"

// listedStates are the states whose tasks can be listed on the page of a queue, by the names in its
// address. Dead tasks have their own page.
var listedStates = map[string]queuepb.TaskState{
	"ready": queuepb.TaskState_TASK_STATE_READY, "delayed": queuepb.TaskState_TASK_STATE_DELAYED, "waiting": queuepb.TaskState_TASK_STATE_WAITING,
	"leased": queuepb.TaskState_TASK_STATE_LEASED,
}

func (h *handler) queue(r *request) (view, error) {
	q := r.URL.Query()
	tenant, name := q.Get("tenant"), q.Get("queue")
	got, err := h.Admin.GetQueue(r.ctx(), &adminpb.GetQueueRequest{Tenant: tenant, Queue: name})
	if err != nil {
		return view{}, err
	}
	v := queueView{Queue: got.GetQueue(), State: q.Get("state"), Kind: q.Get("kind"), Header: q.Get("header"), First: q.Get("page") == ""}
	if listedStates[v.State] == 0 && v.State != finishedState {
		v.State = "ready"
	}
	for _, s := range []stateTab{
		{Name: "ready", Count: v.Ready, Counted: true},
		{Name: "delayed", Count: v.Delayed, Counted: true},
		{Name: "waiting", Count: v.Waiting, Counted: true},
		{Name: "leased", Count: v.Leased, Counted: true},
		{Name: finishedState},
	} {
		s.Current = s.Name == v.State
		v.States = append(v.States, s)
	}
	header, err := headerOf(v.Header)
	if err != nil {
		return view{}, err
	}
	if v.State == finishedState {
		out, err := h.Admin.ListHistory(r.ctx(), &adminpb.ListHistoryRequest{
			Tenant: tenant, Queue: name, Kind: v.Kind, Header: header, PageSize: rows, PageToken: q.Get("page"),
		})
		if err != nil {
			return view{}, err
		}
		v.Finished, v.Next = out.GetTasks(), out.GetNextPageToken()
	} else {
		out, err := h.Admin.ListTasks(r.ctx(), &adminpb.ListTasksRequest{
			Tenant: tenant, Queue: name, State: listedStates[v.State], Kind: v.Kind, Header: header, PageSize: rows, PageToken: q.Get("page"),
		})
		if err != nil {
			return view{}, err
		}
		v.Tasks, v.Next = out.GetTasks(), out.GetNextPageToken()
	}
	seen := h.samples.add(v.Queue)
	v.Depth = newChart("tasks that are ready, delayed or leased", 320, 80, depths(seen))
	v.Rates = newChart("tasks per second", 320, 80, rates(seen))
	v.Failing = newChart("failed attempts and expired leases per second", 320, 80, failing(seen))
	return view{"Queue " + name, "queue", &v}, nil
}

// Link returns the address of the page with tasks in a state and with the same filter.
func (v *queueView) Link(state, page string) string {
	return link("queue", "tenant", v.Tenant, "queue", v.Queue.Queue, "state", state, "kind", v.Kind, "header", v.Header, "page", page)
}

// KeepsHistory reports whether the queue has a history.
func (v *queueView) KeepsHistory() bool {
	return v.GetPolicy().GetHistoryTasksMax() > 0 || v.GetPolicy().GetHistoryRetentionMs() > 0
}

// headerOf converts the value of a field for a header. The text "" selects all tasks.
func headerOf(text string) (*adminpb.HeaderFilter, error) {
	if text == "" {
		return nil, nil
	}
	key, value, found := strings.Cut(text, "=")
	if !found {
		return nil, status.Errorf(codes.InvalidArgument, "header %q has no value: write it as in trace=7f3a", text)
	}
	return &adminpb.HeaderFilter{Key: key, Value: value}, nil
}

// back returns the address of the page of the queue that a form names.
func back(r *request) string {
	return link("queue", "tenant", r.PostForm.Get("tenant"), "queue", r.PostForm.Get("queue"))
}

func (h *handler) pause(r *request) (done, to string, err error) {
	f := r.PostForm
	_, err = h.Admin.PauseQueue(r.ctx(), &adminpb.PauseQueueRequest{Tenant: f.Get("tenant"), Queue: f.Get("queue")})
	return "The queue is paused.", back(r), err
}

func (h *handler) resume(r *request) (done, to string, err error) {
	f := r.PostForm
	_, err = h.Admin.ResumeQueue(r.ctx(), &adminpb.ResumeQueueRequest{Tenant: f.Get("tenant"), Queue: f.Get("queue")})
	return "The queue is not paused.", back(r), err
}

func (h *handler) purge(r *request) (done, to string, err error) {
	f := r.PostForm
	out, err := h.Admin.PurgeQueue(r.ctx(), &adminpb.PurgeQueueRequest{Tenant: f.Get("tenant"), Queue: f.Get("queue")})
	return fmt.Sprintf("Removed %s tasks.", count(out.GetRemoved())), back(r), err
}

func (h *handler) cancel(r *request) (done, to string, err error) {
	f := r.PostForm
	out, err := h.Admin.CancelTasks(r.ctx(), &adminpb.CancelTasksRequest{Tenant: f.Get("tenant"), Ids: f["id"]})
	return outcome("Cancelled", out.GetResults()), back(r), err
}

// outcome describes the results of a call on single tasks.
func outcome(verb string, results []*queuepb.SettleResult) string {
	var refused []string
	for _, r := range results {
		if r.GetError() != nil {
			refused = append(refused, r.GetError().GetMessage())
		}
	}
	text := fmt.Sprintf("%s %d of %d tasks.", verb, len(results)-len(refused), len(results))
	if len(refused) > 0 {
		text += " The first refusal: " + strings.TrimSuffix(refused[0], ".") + "."
	}
	return text
}
