package wire

import "sync"

type resetter[T any] interface {
	*T
	Reset()
}

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

// emptied returns n empty messages. It first reuses the messages of the list, including those
// between its length and its capacity: if the list was last used for fewer messages than before,
// the other messages are still there.
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

func putMessages[P any](recycled *sync.Pool, list []P) {
	if len(list) > 0 {
		kept := list // a separate variable, which moves to the heap only if the list is not empty
		recycled.Put(&kept)
	}
}
