// Package attack simulates hostile clients of a queue server under test. Each kind of attack
// repeats what a broken or malicious client would do, or makes the largest admin calls that a
// tenant may make.
//
// [Start] runs the attackers of a [Plan] in a separate process, so that their CPU time does not
// count as CPU time of the generator or the servers. That process calls [Main], which reads the
// plan and calls [Run]. Main then prints the number of tries, and how many of them the server
// refused or did not answer.
//
// An attacker connects only to the addresses in its plan, which must be on the loopback interface.
// It pauses between two tries, because an attack should exhaust the memory, connections and disk of
// the server, but not the CPUs that the server shares with the attacker.
package attack
