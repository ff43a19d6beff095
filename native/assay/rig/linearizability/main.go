// Decides whether recorded histories of concurrent maps are linearizable.
//
//	assay-rig histories my_map | assay-linearizability
//
// reads histories, one JSON object a line (history.go says which), decides about each by porcupine,
// and prints the smallest that is not linearizable, made smaller still.
//
// Exit status: 0 if all are linearizable, 1 if one is not, 2 if the input cannot be read.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
)

// How many of the histories that fail are made smaller, the shortest first, to find the smallest.
const shrunk = 100

type verdict struct {
	histories  int
	operations int
	failures   []*history
}

func main() {
	found, err := judge(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	found.print(os.Stdout)
	if len(found.failures) > 0 {
		os.Exit(1)
	}
}

func judge(in io.Reader) (*verdict, error) {
	found := new(verdict)
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				return nil, fmt.Errorf("line %d is cut short: the recorder ended before it had written all of it", number)
			}
			break
		}
		if err != nil {
			return nil, err
		}
		h, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("line %d is no history: %w", number, err)
		}
		found.histories++
		found.operations += len(h.Operations) - 1
		if !h.linearizable() {
			found.failures = append(found.failures, h)
		}
	}
	if found.histories == 0 {
		return nil, errors.New("there are no histories to read")
	}
	return found, nil
}

func (found *verdict) print(out io.Writer) {
	if len(found.failures) == 0 {
		fmt.Fprintf(out, "%d histories of %d operations: all linearizable\n", found.histories, found.operations)
		return
	}
	smallest, original := found.smallest()
	fmt.Fprintf(out, "%s is not linearizable: %d of %d histories are not. The smallest, of history %d of seed %d:\n\n",
		original.Map, len(found.failures), found.histories, original.Number, original.Seed)
	smallest.print(out)
}

func (found *verdict) smallest() (smallest, original *history) {
	failures := found.failures
	sort.SliceStable(failures, func(i, j int) bool { return len(failures[i].Operations) < len(failures[j].Operations) })
	if len(failures) > shrunk {
		failures = failures[:shrunk]
	}
	for _, h := range failures {
		if less := shrink(h); smallest == nil || len(less.Operations) < len(smallest.Operations) {
			smallest, original = less, h
		}
	}
	return smallest, original
}
