package main

import "regexp"

// rule is a phrase that readers must take apart, and what to write instead.
type rule struct {
	phrase  *regexp.Regexp
	instead string
}

// rules apply to comments, messages and documents. Each of them also matches a few good sentences,
// so that a small rate of hits is allowed.
var rules = []rule{
	{regexp.MustCompile(`\b(?:is|are|was|were) (?:none|nothing|nobody)\b`), "say what is absent: there is no leader"},
	{regexp.MustCompile(`(?i)\b(?:nobody|somebody|whoever)\b`), "name who: the caller, no client"},
	{regexp.MustCompile(`\bof (?:its|their|his|our) own\b`), "name the owner, or leave it out"},
	{regexp.MustCompile(`(?:^|[.;:] )(?:Of|By|With) (?:a|an|the|its|their|each)\b[^,.]{3,60}, `), "put the subject first"},
	{regexp.MustCompile(`(?:^|[.;:,] |\b(?:and|that|than) )[Ww]hat (?:is|are|was|were|has|have|had|it|they|a|the|each|this|no|must|can|may)\b`), "use a noun: the files, the rest, the cause"},
	{regexp.MustCompile(`\b(?:by|for|of|to|from|in|at|on|than|with|about|into) (?:what|which|how (?:much|many|long|far|often))\b`), "use a noun: the number, the time, the rate"},
	{regexp.MustCompile(`\b(?:for ever|anew|once more|as ever|meanwhile|hereby|therein)\b`), "forever, again, at the same time"},
	{regexp.MustCompile(`\b(?:is|are|was|were) (?:let|told|said|held|given|gone|meant|due|over)\b`), "name who does it: the server rejects, the timeout has expired"},
	{regexp.MustCompile(`\bthat there (?:is|are|was|were)\b`), "existing, available; or leave it out"},
	{regexp.MustCompile(`\b(?:so|as) (?:long|much|many|far|few) (?:as )?(?:is|are|it|they|that|there|a|the)\b`), "while, up to, the number of"},
	{regexp.MustCompile(`\b(?:goes|go|went|going) (?:on|by|wrong)\b`), "continues, uses, fails"},
	{regexp.MustCompile(`\b(?:besides?|thereby|whereby|wherefrom|hitherto)\b`), "next to, with, therefore"},
	{regexp.MustCompile(`\b(?:otherwise than|other than as|in place of|not any more)\b`), "except, instead of, no longer"},
	{regexp.MustCompile(`\b(?:says?|said) (?:what|which|how|whether|that|so|of)\b`), "reports, returns, states, with a noun"},
	{regexp.MustCompile(`\b(?:to|which) be (?:had|told|said|known)\b`), "available, reported"},
}
