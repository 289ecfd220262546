package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outage implements route.Cluster. It returns the result of this node's last query of the members.
func (p *peers) Outage() string {
	if text := p.lastOutage.Load(); text != nil {
		return *text
	}
	return ""
}

// outage explains why no shard can have a leader: less than a majority of the voters answer this
// node. It returns "" if a majority answers.
func (d *directory) outage(self string, now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var here, missing []string
	what := "nodes"
	for id, m := range d.members {
		switch {
		case !m.Voter:
			what = "voting nodes"
		case m.Reachable || id == self:
			here = append(here, id)
		default:
			missing = append(missing, d.presence[id].absence(id, now))
		}
	}
	voters := len(here) + len(missing)
	// If there are no voters, this node is waiting to join and does not know them.
	if need := voters/2 + 1; voters > 0 && len(here) < need {
		slices.Sort(here)
		slices.Sort(missing)
		is := "are"
		if len(here) == 1 {
			is = "is"
		}
		return fmt.Sprintf("%d of %d %s %s there (%s); missing: %s. Reads and writes need %d of %d. Start the missing nodes. "+
			"If they are lost for good, restore a backup. Never edit the peers to get a majority: that loses acknowledged tasks",
			len(here), voters, what, is, cmp.Or(strings.Join(here, ", "), "none"), strings.Join(missing, ", "), need, voters)
	}
	return ""
}

// absence describes since when a member has not answered, as in "n2 since 2026-11-25T17:54:20Z
// (2m13s)".
func (p *presence) absence(id string, now time.Time) string {
	text := fmt.Sprintf("%s since %s (%v", id, timeText(p.since), now.Sub(p.since).Round(time.Second))
	if !p.answered {
		text += ", no answer since this node started"
	}
	return text + ")"
}
