// Package queuedtest runs a queue server inside a test, for programs that use package client or
// package jobs.
//
//	func TestSignUp(t *testing.T) {
//		s := queuedtest.Start(t)
//		signUp(s.Client, "ada")
//		tasks := s.Tasks("mail") // what was enqueued
//		s.Advance(time.Hour)     // a task with a delay of an hour is ready now
//	}
//
// The server is the engine itself: its state machine, its storage on a file system in memory, and
// its gRPC services over connections in memory. It needs no port and no folder, starts within
// milliseconds, and ends with the test.
//
// The server's clock starts at the host's time and follows it; Advance moves it ahead. It moves the
// server's clock only: the timers of the program under test follow the host. To control both, run
// the test in a bubble of testing/synctest. The server then follows the clock of the bubble, so
// time.Sleep moves all of them at once:
//
//	synctest.Test(t, func(t *testing.T) {
//		s := queuedtest.Start(t)
//		go worker.Run(t.Context())
//		time.Sleep(time.Hour) // takes about a second
//		synctest.Wait()       // until the worker and the server are idle
//	})
package queuedtest
