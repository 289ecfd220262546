package stat

// startLeast is the least start of a line that EndToStart divides by, as a part of the mean.
const startLeast = 0.01

// EndToStart turns the rise of a line from begin to end, in percent of the line's middle, into the change of its end to its start in percent. A fall
// of the line by more than its middle is possible, and a loss of more than all that there was is not: the change is never below -100. A
// line that starts below a hundredth of its middle counts as starting there, so that the change is always finite. It grows with percent.
func EndToStart(percent float64) float64 {
	half := percent / 200
	start, end := max(startLeast, 1-half), max(0, 1+half)
	return 100 * (end/start - 1)
}
