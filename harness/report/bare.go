package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// ofBareHeader is the header of shares of the bare data path.
const ofBareHeader = ">of bare"

// ofBareParagraph explains the shares of the bare data path, unless bare is nil.
func ofBareParagraph(p *doc.Document, bare *result.Reference) {
	if bare == nil {
		return
	}
	p.Paragraph("The bare columns compare with the bare data path: a rate as a share of its rate, and CPU time as a multiple of its CPU time, of the client, the"+
		" server or both. The bare data path was measured during the run, with %s in each call at durability %s, and reached %s cycles per second."+
		" These ratios can be compared between hosts and days.", render.Plural(bare.Batch, "task"), doc.Code(bare.Durability), render.Number(bare.PerS.Median))
}

// ofBare returns the cell of a metric's share of the bare data path.
func ofBare(bare *result.Reference, name string, m result.Metric) string {
	share, has := shareOfBare(bare, name, m)
	if !has {
		return doc.None
	}
	return render.Number(share.Median)
}

// inBare returns a suffix for a figure with its share of the bare data path, or "" if the metric is
// not compared with it.
func inBare(bare *result.Reference, name string, m result.Metric) string {
	share, has := shareOfBare(bare, name, m)
	if !has {
		return ""
	}
	return fmt.Sprintf(", %s of the bare data path", render.Number(share.Median))
}

func shareOfBare(bare *result.Reference, name string, m result.Metric) (result.Metric, bool) {
	if bare == nil {
		return result.Metric{}, false
	}
	return bare.Share(name, m)
}
