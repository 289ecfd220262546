// Package plots draws the plots of pages in one style: sans-serif, a light grid, no box, and
// colours that readers with impaired colour vision can distinguish. The same plot yields the same
// bytes.
package plots

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that readers with impaired colour vision can distinguish, after Okabe and Ito.
var (
	Blue      = color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	Orange    = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	Green     = color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	Purple    = color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	SkyBlue   = color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	Black     = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
	Grey      = color.RGBA{R: 0xd9, G: 0xd9, B: 0xd9, A: 0xff}
	gridGrey  = color.RGBA{R: 0xe6, G: 0xe6, B: 0xe6, A: 0xff}
	TextGrey  = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
	BandShade = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0x40}
)

// Lines distinguish lines by colour and, in print, by dashes.
var Lines = []draw.LineStyle{
	{Color: Blue, Width: vg.Points(2)},
	{Color: Orange, Width: vg.Points(2), Dashes: []vg.Length{vg.Points(6), vg.Points(3)}},
	{Color: Green, Width: vg.Points(2), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}},
	{Color: Purple, Width: vg.Points(2), Dashes: []vg.Length{vg.Points(8), vg.Points(2), vg.Points(2), vg.Points(2)}},
	{Color: SkyBlue, Width: vg.Points(2)},
	{Color: Black, Width: vg.Points(1.5), Dashes: []vg.Length{vg.Points(1), vg.Points(3)}},
	{Color: Blue, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(4), vg.Points(4)}},
	{Color: Orange, Width: vg.Points(1)},
}

const (
	plotWidth  = 7.5 * vg.Inch
	plotHeight = 4.2 * vg.Inch
)

// ErrNothing is the error of a plot without data.
var ErrNothing = errors.New("nothing to plot")

// New returns an empty plot with a title and with the labels of both axes.
func New(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(10)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.Title.TextStyle.Font.Size = vg.Points(13)
	p.Title.TextStyle.Font.Weight = font.WeightBold
	p.Title.TextStyle.Color = TextGrey
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Variant = "Sans"
		axis.Label.TextStyle.Font.Size = vg.Points(11)
		axis.Label.TextStyle.Color = TextGrey
		axis.Label.Padding = vg.Points(6)
		axis.Tick.Label.Font.Variant = "Sans"
		axis.Tick.Label.Font.Size = vg.Points(10)
		axis.Tick.Label.Color = TextGrey
		axis.Tick.Color = TextGrey
		axis.Tick.Length = vg.Points(4)
		axis.Color = TextGrey
		axis.Padding = 0
	}
	p.Legend.TextStyle.Font.Variant = "Sans"
	p.Legend.TextStyle.Font.Size = vg.Points(10)
	p.Legend.TextStyle.Color = TextGrey
	p.Legend.Padding = vg.Points(3)
	p.Legend.ThumbnailWidth = vg.Points(24)
	p.Legend.Top = true
	p.Legend.Left = true
	p.Legend.XOffs = vg.Points(10)
	p.Legend.YOffs = vg.Points(-8)
	return p
}

// Grid returns horizontal lines, and also vertical ones if vertical is set.
func Grid(vertical bool) *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: gridGrey, Width: vg.Points(0.75)}
	grid.Vertical.Color = nil
	if vertical {
		grid.Vertical = grid.Horizontal
	}
	return grid
}

// SVG draws p. Readers without the plot's font get one with the same widths.
func SVG(p *plot.Plot) ([]byte, error) { return Stack(plotHeight, p) }

// Stack draws plots of the given height one below the other.
func Stack(height vg.Length, plots ...*plot.Plot) ([]byte, error) {
	return Columns(1, height, plots...)
}

// Columns draws plots of the given height in rows with the given number of columns, from left to
// right.
func Columns(columns int, height vg.Length, plots ...*plot.Plot) ([]byte, error) {
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
