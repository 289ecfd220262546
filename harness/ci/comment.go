package ci

import "strings"

const (
	// commentMax is GitHub's limit on a comment: 65,536 characters. No character is longer in characters than in bytes.
	commentMax = 65536
	// commentMarker begins a comment, so that the next run finds it. Readers don't see it.
	commentMarker = "<!-- prony comment -->"
	// neutralMarker is the second line of a comment that is to replace an earlier one, and not to be posted by itself.
	neutralMarker = "<!-- neutral -->"
)

// Comment returns the judgements as the text of the one comment on a pull request. If all are neutral, the text is marked so: then it replaces
// a comment that is there, which would be wrong now, and nothing is posted otherwise.
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
