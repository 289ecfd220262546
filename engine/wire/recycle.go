package wire

import "sync"

type resetter[T any] interface {
	*T
	Reset()
}

// takeMessages returns n empty messages. It takes them from a pool of recycled lists if possible.
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

// emptied returns n empty messages and reuses the messages of the list first. A list that last held
// fewer messages than before still has the others between its length and capacity. They stay there
// and are reused.
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

// putMessages returns a list with its messages to its pool.
func putMessages[P any](recycled *sync.Pool, list []P) {
	if len(list) > 0 {
		kept := list // a variable that moves to the heap only if there is a list
		recycled.Put(&kept)
	}
}
