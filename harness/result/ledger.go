package result

// Ledger is a round's account of its tasks, including warm-up and drain.
type Ledger struct {
	Enqueued uint64 `json:"enqueued"` // acknowledged
	// Unknown counts tasks sent but neither acknowledged nor refused.
	Unknown   uint64 `json:"unknown"`
	Completed uint64 `json:"completed"` // acknowledged
	// InDoubt counts enqueued tasks whose completion was requested but never answered. The
	// completion may have taken effect.
	InDoubt uint64 `json:"in_doubt,omitempty"`
	// Left counts enqueued tasks that remained on the server because no worker claims them or the
	// drain was too short.
	Left       uint64 `json:"left,omitempty"`
	Lost       uint64 `json:"lost"`       // enqueued but never completed
	Duplicated uint64 `json:"duplicated"` // completed more than once
	// Corrupted counts tasks whose payload or priority at the claim differed from that at the
	// enqueue.
	Corrupted uint64 `json:"corrupted"`
	// Misrouted counts tasks that were claimed from a tenant or queue other than the one they were
	// enqueued to.
	Misrouted uint64 `json:"misrouted,omitempty"`
	// Reordered counts tasks claimed after a later task of the same producer and queue, if checked.
	Reordered uint64 `json:"reordered,omitempty"`
	// Contested counts claims of a task while another lease of the task was valid, if checked.
	Contested uint64 `json:"contested,omitempty"`
	// Revoked counts completions refused despite a valid lease, if checked.
	Revoked uint64 `json:"revoked,omitempty"`
	// Reads counts reads of tasks whose answers were checked.
	Reads uint64 `json:"reads,omitempty"`
	// Misread counts the wrong answers in Reads: another task or payload, a task of another tenant,
	// or no task although the task exists.
	Misread uint64 `json:"misread,omitempty"`
	// Failed counts acknowledged failures of attempts by workers.
	Failed uint64 `json:"failed,omitempty"`
	// Retried counts deliveries of tasks whose previous attempt failed.
	Retried uint64 `json:"retried,omitempty"`
	// Dead counts tasks whose last attempt failed. They are neither in Completed nor in Lost.
	Dead uint64 `json:"dead,omitempty"`
	// Miscounted counts tasks claimed with a wrong attempt number: not the successor of the last
	// failed attempt's number.
	Miscounted uint64 `json:"miscounted,omitempty"`
	// Delayed counts deliveries of tasks that were enqueued with a delay.
	Delayed uint64 `json:"delayed,omitempty"`
	// Early counts the deliveries in Delayed that happened before the end of the delay.
	Early uint64 `json:"early,omitempty"`
	// Results counts the results of completed tasks that were read back.
	Results uint64 `json:"results,omitempty"`
	// WrongResults counts the answers in Results that contained a wrong result or none.
	WrongResults uint64 `json:"wrong_results,omitempty"`
	Extended     uint64 `json:"extended,omitempty"` // acknowledged extensions of leases
	// Unextended counts extensions refused despite a valid lease.
	Unextended uint64 `json:"unextended,omitempty"`
	// Repeated counts tasks whose second enqueue, with the same idempotency key, was acknowledged.
	Repeated uint64 `json:"repeated,omitempty"`
	// Rekeyed counts the tasks in Repeated whose second enqueue returned a different id than the
	// first.
	Rekeyed uint64 `json:"rekeyed,omitempty"`
	// Taken counts enqueues that were refused because another task held their unique key.
	Taken uint64 `json:"taken,omitempty"`
	// Doubled counts tasks that were unfinished while another task with the same unique key was.
	Doubled uint64 `json:"doubled,omitempty"`
	// Cancelled counts tasks that were cancelled while they were leased. They are neither in Completed
	// nor in Lost.
	Cancelled uint64 `json:"cancelled,omitempty"`
	// Unnoticed counts the tasks in Cancelled whose worker was not notified.
	Unnoticed uint64 `json:"unnoticed,omitempty"`
	// Labelled counts deliveries whose headers were checked.
	Labelled uint64 `json:"labelled,omitempty"`
	// WrongHeaders counts the deliveries in Labelled with other headers than those of the enqueue.
	WrongHeaders uint64 `json:"wrong_headers,omitempty"`
	// Finals counts deliveries of final tasks of batches.
	Finals uint64 `json:"finals,omitempty"`
	// Premature counts those in Finals before the completion of all members was requested.
	Premature uint64 `json:"premature,omitempty"`
	// Samples names some of the tasks at fault, up to a fixed number.
	Samples []string `json:"samples,omitempty"`
}

// Recurring is the account of the recurring tasks of a round.
type Recurring struct {
	Due    uint64 `json:"due"`    // due times that passed
	Missed uint64 `json:"missed"` // due times that became no task
	Twice  uint64 `json:"twice"`  // additional tasks of a due time
	// Unscheduled counts tasks whose due time is not in the schedule, or was not reached.
	Unscheduled uint64   `json:"unscheduled"`
	Samples     []string `json:"samples,omitempty"`
}
