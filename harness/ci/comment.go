package ci

import "strings"

const (
	// commentMax is GitHub's limit on a comment: 65,536 characters. No character is longer in
	// characters than in bytes.
	commentMax = 65536
	// commentMarker begins a comment, so that the next run finds it. It is invisible to readers.
	commentMarker = "<!-- prony comment -->"
	// neutralMarker is the second line of a comment that may only replace an earlier one.
	neutralMarker = "<!-- neutral -->"
)

// Comment returns the judgements as the text of the only comment on a pull request. If all are
// neutral, the text is marked: it then replaces an existing comment, which would be outdated, but
// is not posted as a new one.
func Comment(all []Judgement) string {
	head, neutral := commentMarker+"\n", true
	for _, j := range all {
		neutral = neutral && j.Neutral
	}
	if neutral {
		head += neutralMarker + "\n"
	}
	return head + cut(strings.ReplaceAll(Summary(all), "\r", ""), commentMax-len(head))
}
