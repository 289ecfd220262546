// Package gate judges what a run measured. It reads the checked-in limits under baselines/ and says of a stored
// result which of them it keeps, which it breaks and where to look.
//
// A gate fails closed: a metric that is missing, zero or no number breaks its limit, and a scenario without a
// baseline is misconfigured, since a gate that judges nothing has passed nothing.
package gate
