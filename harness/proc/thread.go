package proc

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs do on a dedicated thread, and does not wait for it. The thread ends after do, so do
// may change properties of the thread: its network namespace and its CPUs. The thread is never the
// main thread, which cannot end and whose properties /proc reports for the process.
func OnThread(do func()) {
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, because it is never unlocked
		if unix.Gettid() != unix.Getpid() {
			do()
			return
		}
		done := make(chan struct{})
		go func() { // on another thread, because this one is locked
			defer close(done)
			runtime.LockOSThread()
			do()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
}
