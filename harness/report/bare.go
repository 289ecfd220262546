package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// ofBareHeader is the header of shares of the bare data path.
const ofBareHeader = ">of bare"

// ofBareParagraph explains the shares of the bare data path; nil if the figures have none.
func ofBareParagraph(p *page, bare *result.Reference) {
	if bare == nil {
		return
	}
	p.paragraph("The column of bare has a rate as a share of that of the bare data path, and CPU time as a multiple of its CPU time: of the client, of the"+
		" server or of both. The bare data path was measured in the minutes of the run, with %s a call at durability %s, and makes %s cycles a second."+
		" These ratios can be compared between hosts and days.", render.Plural(bare.Batch, "task"), code(bare.Durability), render.Number(bare.PerS.Median))
}

// ofBare is the cell of a metric's share of the bare data path.
func ofBare(bare *result.Reference, name string, m result.Metric) string {
	share, has := shareOfBare(bare, name, m)
	if !has {
		return none
	}
	return render.Number(share.Median)
}

// inBare says behind a figure which share of the bare data path it is; "" if it is not compared with it.
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
