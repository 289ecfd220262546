package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pronybench/prony/harness/render"
)

// Colours that readers with impaired colour vision can distinguish, after Okabe and Ito.
var (
	blue      = color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	orange    = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	green     = color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	purple    = color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	skyBlue   = color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	black     = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
	grey      = color.RGBA{R: 0xd9, G: 0xd9, B: 0xd9, A: 0xff}
	gridGrey  = color.RGBA{R: 0xe6, G: 0xe6, B: 0xe6, A: 0xff}
	textGrey  = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
	bandShade = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0x40}
)

// lineStyles distinguish lines by colour and, in print, by dashes.
var lineStyles = []draw.LineStyle{
	{Color: blue, Width: vg.Points(2)},
	{Color: orange, Width: vg.Points(2), Dashes: []vg.Length{vg.Points(6), vg.Points(3)}},
	{Color: green, Width: vg.Points(2), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}},
	{Color: purple, Width: vg.Points(2), Dashes: []vg.Length{vg.Points(8), vg.Points(2), vg.Points(2), vg.Points(2)}},
	{Color: skyBlue, Width: vg.Points(2)},
	{Color: black, Width: vg.Points(1.5), Dashes: []vg.Length{vg.Points(1), vg.Points(3)}},
	{Color: blue, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(4), vg.Points(4)}},
	{Color: orange, Width: vg.Points(1)},
}

const (
	plotWidth  = 7.5 * vg.Inch
	plotHeight = 4.2 * vg.Inch
)

// newPlot returns an empty plot in the style of all pages: sans-serif, a light grid, no box.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(10)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.Title.TextStyle.Font.Size = vg.Points(13)
	p.Title.TextStyle.Font.Weight = font.WeightBold
	p.Title.TextStyle.Color = textGrey
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Variant = "Sans"
		axis.Label.TextStyle.Font.Size = vg.Points(11)
		axis.Label.TextStyle.Color = textGrey
		axis.Label.Padding = vg.Points(6)
		axis.Tick.Label.Font.Variant = "Sans"
		axis.Tick.Label.Font.Size = vg.Points(10)
		axis.Tick.Label.Color = textGrey
		axis.Tick.Color = textGrey
		axis.Tick.Length = vg.Points(4)
		axis.Color = textGrey
		axis.Padding = 0
	}
	p.Legend.TextStyle.Font.Variant = "Sans"
	p.Legend.TextStyle.Font.Size = vg.Points(10)
	p.Legend.TextStyle.Color = textGrey
	p.Legend.Padding = vg.Points(3)
	p.Legend.ThumbnailWidth = vg.Points(24)
	p.Legend.Top = true
	p.Legend.Left = true
	p.Legend.XOffs = vg.Points(10)
	p.Legend.YOffs = vg.Points(-8)
	return p
}

func lightGrid(vertical bool) *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: gridGrey, Width: vg.Points(0.75)}
	grid.Vertical.Color = nil
	if vertical {
		grid.Vertical = grid.Horizontal
	}
	return grid
}

// svg draws p. The same plot yields the same bytes. Readers without the plot's font get one with
// the same widths.
func svg(p *plot.Plot) ([]byte, error) { return stack(plotHeight, p) }

// stack draws plots of the given height one below the other.
func stack(height vg.Length, plots ...*plot.Plot) ([]byte, error) { return grid(1, height, plots...) }

// grid draws plots of the given height in rows with the given number of columns, from left to
// right.
func grid(columns int, height vg.Length, plots ...*plot.Plot) ([]byte, error) {
	total := height * vg.Length((len(plots)+columns-1)/columns)
	width := plotWidth / vg.Length(columns)
	canvas := vgsvg.New(plotWidth, total)
	canvas.SetColor(color.White)
	canvas.Fill(rectangle(plotWidth, total))
	for i, p := range plots {
		above, left := height*vg.Length(i/columns), width*vg.Length(i%columns)
		p.Draw(draw.Crop(draw.New(canvas), left+vg.Points(6), left+width-plotWidth-vg.Points(14), total-above-height+vg.Points(6), -above-vg.Points(8)))
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %q: %w", plots[0].Title.Text, err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

func rectangle(width, height vg.Length) vg.Path {
	var path vg.Path
	path.Move(vg.Point{})
	path.Line(vg.Point{X: width})
	path.Line(vg.Point{X: width, Y: height})
	path.Line(vg.Point{Y: height})
	path.Close()
	return path
}

// fromZero returns about five ticks of an axis from zero to limit at round steps.
func fromZero(limit float64) []plot.Tick {
	if limit <= 0 || math.IsInf(limit, 0) || math.IsNaN(limit) {
		return []plot.Tick{{Value: 0, Label: "0"}}
	}
	step := math.Pow(10, math.Floor(math.Log10(limit)))
	for _, fraction := range []float64{0.1, 0.2, 0.5, 1} {
		if limit/(step*fraction) <= 7 {
			step *= fraction
			break
		}
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= limit && i <= 10; i++ {
		ticks = append(ticks, plot.Tick{Value: float64(i) * step, Label: render.Digits(float64(i)*step, 3)})
	}
	return ticks
}

// logTicks returns the ticks of a logarithmic axis from low to high, which must span at least a
// decade. Powers of ten are labelled, and in a short range also their multiples by 2 and 5; the
// other digits are minor ticks.
func logTicks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low)+1e-9)), int(math.Ceil(math.Log10(high)-1e-9))
	var ticks []plot.Tick
	for exponent := first; exponent <= last; exponent++ {
		for digit := 1; digit <= 9; digit++ {
			v := float64(digit) * math.Pow(10, float64(exponent))
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: v}
			if digit == 1 || (last-first <= 3 && (digit == 2 || digit == 5)) {
				tick.Label = render.Digits(v, 3)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
