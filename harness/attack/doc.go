// Package attack simulates hostile clients of a queue server under test. Each kind of attack repeats what one broken or
// malicious client could do, or the largest admin calls that a tenant may make.
//
// [Start] runs the attackers of a [Plan] in a process of their own, so that their CPU time counts neither as the generator's
// nor as the servers'. [Main] is that process: it reads the plan, calls [Run], and prints how many tries there were, and how
// many of them the server refused or left without an answer.
//
// An attacker connects only to the addresses in its plan, which must be on the loopback interface. It pauses between two
// tries: an attack is meant to exhaust the memory, connections and disk of the server, not the CPUs that both share.
package attack
