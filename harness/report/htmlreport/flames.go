package htmlreport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// Bounds of the flame graphs in one file.
const (
	flamesMax = 64   // maximum number of profiles
	callsMax  = 1500 // maximum number of calls of each
)

// flames are the profiles of one run, with their calls.
type flames struct {
	run     *result.Result
	graphs  []flame
	omitted int // profiles beyond flamesMax
}

type flame struct {
	title   string
	summary result.Profile
	data    []byte // JSON for the script
}

// flameData is a tree of calls as a flat list in depth-first order.
type flameData struct {
	Title     string   `json:"title"`
	Unit      string   `json:"unit"`
	Functions []string `json:"functions"`
	// Calls has three numbers for each call, callers before their callees: the index of its
	// function, its value, and the number of its callees, which follow.
	Calls []int64 `json:"calls"`
}

// readFlames returns the profiles of each data folder that has some, with at most flamesMax
// profiles in total.
func readFlames(folders []string) (all []flames, err error) {
	left := flamesMax
	for _, dir := range folders {
		if exists, err := result.Exists(dir, result.ResultFile); err != nil {
			return nil, err
		} else if !exists {
			continue
		}
		r, err := result.ReadResult(filepath.Join(dir, result.ResultFile))
		if err != nil {
			return nil, err
		}
		of := flames{run: r}
		for _, p := range r.Profiles {
			if left == 0 {
				of.omitted++
				continue
			}
			graph, err := readFlame(dir, r, p)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, profile.ErrEmpty) {
				continue // the profile is not stored, or has no sample
			}
			if err != nil {
				return nil, fmt.Errorf("read the %s profile in %s: %w", p.Kind, dir, err)
			}
			of.graphs = append(of.graphs, graph)
			left--
		}
		if len(of.graphs) > 0 {
			all = append(all, of)
		}
	}
	return all, nil
}

func readFlame(dir string, r *result.Result, p result.Profile) (flame, error) {
	tree, err := profile.Tree(dir, p, callsMax)
	if err != nil {
		return flame{}, err
	}
	title := flameTitle(r, p)
	d := flameData{Title: title, Unit: p.Unit}
	d.add(tree, map[string]int64{})
	data, err := json.Marshal(d)
	return flame{title, p, data}, err
}

// flameTitle describes a profile of a run: its kind, its point and its node.
func flameTitle(r *result.Result, p result.Profile) string {
	var of []string
	for _, point := range r.Points {
		if point.Number == p.Point {
			of = append(of, point.Name)
		}
	}
	if p.Node != "" {
		of = append(of, p.Node)
	}
	if len(of) == 0 {
		return p.Kind
	}
	return p.Kind + " of " + strings.Join(of, ", ")
}

func (d *flameData) add(c *profile.Call, index map[string]int64) {
	name := render.Function(c.Function)
	if c.Omitted > 0 {
		name = "(" + render.Plural(c.Omitted, "smaller call") + ")"
	}
	at, known := index[name]
	if !known {
		at = int64(len(d.Functions))
		index[name] = at
		d.Functions = append(d.Functions, name)
	}
	d.Calls = append(d.Calls, at, c.Value, int64(len(c.Calls)))
	for _, callee := range c.Calls {
		d.add(callee, index)
	}
}

// page returns the article of a run's profiles, the n-th of the file, and adds the data of its
// flame graphs. Without scripts it has the most expensive functions.
func (f *flames) page(n int, data map[string]plotData) *page {
	d := &doc.Document{}
	m := f.run.Manifest
	d.Heading(1, "%s: profiles", doc.Escape(f.run.Scenario))
	d.Paragraph("Run %s, durability %s, revision %s, %s. A profile is the sum over the windows of"+
		" its rounds. In a graph, the width of a call is its cost including its callees, and it is below its"+
		" caller. A graph has the %s most expensive calls; the smaller ones of a caller are combined. Grey are the runtime and"+
		" system calls, green the network, Raft and codecs, blue the store, and orange all other code. Timed rounds are not profiled: these figures are not rates.",
		doc.Code(f.run.Run), doc.Code(m.Durability()), doc.Code(m.Build.Commit), words.Machine(m.Host), render.Count(callsMax))
	for i, g := range f.graphs {
		d.Heading(2, "%s", doc.Escape(g.title))
		d.Paragraph("%s in all, of %s.", doc.Escape(render.Amount(g.summary.Total, g.summary.Unit)), render.Plural(max(1, g.summary.Rounds), "round"))
		name := fmt.Sprintf("flame-%d-%d", n, i) // no plot has it, because those have an extension
		data[name] = plotData{"flame", g.data}
		d.Plot("Flame graph", name, "")
		var rows [][]string
		for _, e := range g.summary.Top {
			rows = append(rows, []string{
				doc.Code(render.Function(e.Function)), doc.Escape(render.Amount(e.Flat, g.summary.Unit)), render.Percent(e.Share), doc.Escape(render.Amount(e.Cum, g.summary.Unit)),
			})
		}
		d.Table([]string{"function", ">its own", ">of all", ">with what it calls"}, rows)
	}
	if f.omitted > 0 {
		d.Paragraph("%s more are in the run's folder: a file has at most %d.", render.Plural(f.omitted, "profile"), flamesMax)
	}
	id := fmt.Sprintf("profiles/%d", n)
	return newPage(id+".md", id, []byte(d.Markdown()))
}
