package proc

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs do on a thread of its own, and does not wait for it. The thread ends after do, so that do may change what belongs to the
// thread alone: its network namespace, and the CPUs that it may use. It is never the process's first thread, which cannot end: /proc says
// of a process what is true of that one.
func OnThread(do func()) {
	go func() {
		runtime.LockOSThread() // without an unlock the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			do()
			return
		}
		done := make(chan struct{})
		go func() { // on another thread, as this one is locked
			defer close(done)
			runtime.LockOSThread()
			do()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
}
