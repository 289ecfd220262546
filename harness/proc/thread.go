package proc

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread calls do on a dedicated thread, and does not wait for it. The thread ends when do
// returns, so do may change properties of the thread, such as its network namespace and its CPUs.
// The thread is never the main thread: the main thread cannot end, and /proc reports its properties
// as those of the process.
func OnThread(do func()) {
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, because it is never unlocked
		if unix.Gettid() != unix.Getpid() {
			do()
			return
		}
		done := make(chan struct{})
		go func() { // this goroutine runs on another thread, because the current thread is locked
			defer close(done)
			runtime.LockOSThread()
			do()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
}
