package queue

// waiters is the round-robin list of a queue's subscriptions. It is a doubly linked list whose
// links are fields of the subscriptions. Each operation, including removal from the middle, takes
// O(1) and does not allocate.
type waiters struct {
	first, last *subscription
	n           int
}

func (l *waiters) len() int { return l.n }

func (l *waiters) front() *subscription { return l.first }

func (l *waiters) push(sub *subscription) {
	sub.listed = true
	sub.before, sub.after = l.last, nil
	if l.last == nil {
		l.first = sub
	} else {
		l.last.after = sub
	}
	l.last = sub
	l.n++
}

func (l *waiters) remove(sub *subscription) {
	if sub.before == nil {
		l.first = sub.after
	} else {
		sub.before.after = sub.after
	}
	if sub.after == nil {
		l.last = sub.before
	} else {
		sub.after.before = sub.before
	}
	sub.before, sub.after, sub.listed = nil, nil, false
	l.n--
}

func (l *waiters) rotate() {
	sub := l.first
	l.remove(sub)
	l.push(sub)
}
