package wire

import "sync"

// resetter is a generated message.
type resetter[T any] interface {
	*T
	Reset()
}

// takeMessages returns n empty messages, from a pool of recycled lists as far as there are some.
func takeMessages[T any, P resetter[T]](recycled *sync.Pool, n int) []P {
	if n == 0 {
		return nil
	}
	var list []P
	if l, ok := recycled.Get().(*[]P); ok {
		list = *l
	}
	return emptied[T](list, n)
}

// emptied returns n empty messages, and reuses the messages of the list first. A list that was used for fewer messages than before has the others
// beyond its end, up to its capacity: they stay there, and are used again.
func emptied[T any, P resetter[T]](list []P, n int) []P {
	list = list[:min(n, cap(list))]
	for i, m := range list {
		if m == nil {
			list = list[:i]
			break
		}
		m.Reset()
	}
	if missing := n - len(list); missing > 0 {
		slab := make([]T, missing)
		for i := range slab {
			list = append(list, &slab[i])
		}
	}
	return list
}

// putMessages gives a list back to its pool, with its messages.
func putMessages[P any](recycled *sync.Pool, list []P) {
	if len(list) > 0 {
		kept := list // moves to the heap only if there is something to keep
		recycled.Put(&kept)
	}
}
