// Package attack simulates hostile clients of a queue server under test. Each kind of attack
// repeats the behaviour of a broken or malicious client, or the largest admin calls that a tenant
// may make.
//
// [Start] runs the attackers of a [Plan] in a separate process, so that their CPU time does not
// count as the generator's or the servers'. [Main] is that process: it reads the plan, calls [Run],
// and prints the number of tries, and how many of them the server refused or did not answer.
//
// An attacker connects only to the addresses in its plan, which must be on the loopback interface.
// It pauses between two tries, because an attack should exhaust the memory, connections and disk of
// the server, but not the CPUs that both share.
package attack
