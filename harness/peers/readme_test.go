package peers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers"
)

// The README has the tables of the targets' descriptions.
func TestTheReadmeHasTheTargets(t *testing.T) {
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	const begin, end = "<!-- targets: written by make golden -->\n", "<!-- end of targets -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	var descriptions []program.Description
	for _, target := range peers.Targets() {
		d := target.Describe(t.Context())
		if d.Name == "rabbitmq-classic" && d.Version != "" && !strings.HasPrefix(d.Version, "3.") {
			t.Skip("the README has the guarantees of RabbitMQ 3")
		}
		descriptions = append(descriptions, d)
	}
	page := before + begin + tables(descriptions) + end + after
	if golden.Writing(t) {
		require.NoError(t, os.WriteFile("README.md", []byte(page), 0o600))
		return
	}
	assert.Equal(t, page, string(data), "run make golden")
}

// tables returns Markdown without the versions on this host.
func tables(descriptions []program.Description) string {
	var text strings.Builder
	text.WriteString("\n| target | server | client | guarantees | nodes |\n|---|---|---|---|---|\n")
	for _, d := range descriptions {
		var clients []string
		for client := range strings.SplitSeq(d.Client, ", ") {
			path, _, _ := strings.Cut(client, " ")
			clients = append(clients, "`"+path+"`")
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", d.Name, d.Product, strings.Join(clients, ", "), list(d.Guarantees), list(d.Nodes))
	}
	for _, d := range descriptions {
		fmt.Fprintf(&text, "\n### %s\n\n| setting | value | because |\n|---|---|---|\n", d.Name)
		for _, s := range d.Settings {
			fmt.Fprintf(&text, "| %s | %s | %s |\n", s.Name, s.Value, s.Because)
		}
		if d.Claim != "" {
			fmt.Fprintf(&text, "\nIts documentation: %s\n", d.Claim)
		}
	}
	text.WriteString("\n")
	return text.String()
}

func list[E any](of []E) string {
	var texts []string
	for _, e := range of {
		texts = append(texts, fmt.Sprint(e))
	}
	return strings.Join(texts, ", ")
}
