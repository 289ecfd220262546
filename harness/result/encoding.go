package result

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histogramsDocument is the content of histograms.json.
type histogramsDocument struct {
	Version int                `json:"version"`
	Unit    string             `json:"unit"` // "ns"
	Rounds  []encodedHistogram `json:"rounds"`
}

// encodedHistogram holds a round's histograms in the V2 compressed encoding, in base64.
type encodedHistogram struct {
	Round   int    `json:"round"`
	Enqueue string `json:"enqueue"`
	Settle  string `json:"settle"`
	Cycle   string `json:"cycle"`
}

func encodeHistograms(hists []RoundHistograms) (*histogramsDocument, error) {
	doc := &histogramsDocument{Version: Version, Unit: "ns", Rounds: make([]encodedHistogram, 0, len(hists))}
	for _, h := range hists {
		texts := make([]string, 3)
		for k, kind := range h.Kinds() {
			if kind.Histogram == nil {
				return nil, fmt.Errorf("round %d: the %s histogram is missing", h.Round, kind.Name)
			}
			text, err := kind.Histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
			if err != nil {
				return nil, fmt.Errorf("round %d: encode the %s histogram: %w", h.Round, kind.Name, err)
			}
			texts[k] = string(text)
		}
		doc.Rounds = append(doc.Rounds, encodedHistogram{Round: h.Round, Enqueue: texts[0], Settle: texts[1], Cycle: texts[2]})
	}
	return doc, nil
}

func (doc *histogramsDocument) decode() ([]RoundHistograms, error) {
	if doc.Unit != "ns" {
		return nil, fmt.Errorf("the unit is %q, not \"ns\"", doc.Unit)
	}
	hists := make([]RoundHistograms, 0, len(doc.Rounds))
	for _, encoded := range doc.Rounds {
		decoded := make([]*hdrhistogram.Histogram, 3)
		for k, text := range []string{encoded.Enqueue, encoded.Settle, encoded.Cycle} {
			h, err := hdrhistogram.Decode([]byte(text))
			if err != nil {
				return nil, fmt.Errorf("round %d: decode the %s histogram: %w", encoded.Round, Histograms{}.Kinds()[k].Name, err)
			}
			decoded[k] = h
		}
		hists = append(hists, RoundHistograms{encoded.Round, Histograms{decoded[0], decoded[1], decoded[2]}})
	}
	return hists, nil
}
