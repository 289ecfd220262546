package stat

// startLeast is the lower bound of the start in EndToStart, relative to the middle of the line.
const startLeast = 0.01

// EndToStart converts the rise of a line, in percent of the line's middle, to the relative change
// from its start to its end in percent. A line can fall below zero, but a figure cannot lose more
// than 100 %, so the change is never below -100. A start below 1 % of the middle is treated as 1 %,
// so the change is always finite. The change increases with percent.
func EndToStart(percent float64) float64 {
	half := percent / 200
	start, end := max(startLeast, 1-half), max(0, 1+half)
	return 100 * (end/start - 1)
}
