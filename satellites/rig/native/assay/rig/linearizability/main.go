// Decides whether recorded histories of concurrent maps are linearizable.
//
//	assay-rig histories my_map | assay-linearizability
//
// reads histories, one JSON object a line (history.go says which), decides about each by porcupine,
// and prints the smallest that is not linearizable, made smaller still, and then the whole of it. A
// history that did not end is printed, too.
//
// With -histories N fewer than N are an error, unless the last did not end: a recorder that crashes
// between two lines leaves no other trace. With -until-end a last line "end" says that there are no
// more, in place of their number. What can be judged is, whatever comes after it.
//
// Exit status: 0 if all are linearizable, 1 if one is not or did not end, 2 if the input cannot be
// read or is not complete.
package main

import (
	"bufio"
	"errors"
	"flag"
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
	unended    []*history
	atEnd      bool  // a line said that there are no more
	incomplete error // why there are not more histories, if there should be
}

func main() {
	flags := flag.NewFlagSet("assay-linearizability", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // which would quote words as they are
	expected := flags.Int("histories", 0, "how many there are")
	untilEnd := flags.Bool("until-end", false, "the last line is \"end\"")
	err := flags.Parse(os.Args[1:])
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("%s: histories are read from standard input alone", flags.Arg(0))
	}
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", clipped(message(err.Error()), mostOfWord)) // of a word with its blanks
		os.Exit(2)
	}
	found := judge(os.Stdin, *expected, *untilEnd)
	found.print(os.Stdout)
	if found.incomplete != nil {
		fmt.Fprintln(os.Stderr, "error:", message(found.incomplete.Error()))
	}
	os.Exit(found.status())
}

func (found *verdict) status() int {
	switch {
	case len(found.failures) > 0 || len(found.unended) > 0:
		return 1
	case found.incomplete != nil:
		return 2
	default:
		return 0
	}
}

// judge decides about all histories up to the end, or to what it cannot read.
func judge(in io.Reader, expected int, untilEnd bool) *verdict {
	found := new(verdict)
	found.incomplete = found.readAll(in)
	if found.incomplete == nil && found.histories == 0 {
		found.incomplete = errors.New("there are no histories to read")
	}
	if found.incomplete == nil && found.histories < expected && len(found.unended) == 0 {
		found.incomplete = fmt.Errorf("the recorder ended after %d of %d histories", found.histories, expected)
	}
	if found.incomplete == nil && untilEnd && !found.atEnd && len(found.unended) == 0 {
		found.incomplete = fmt.Errorf("the recorder ended early, after %d histories", found.histories)
	}
	return found
}

func (found *verdict) readAll(in io.Reader) error {
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				return fmt.Errorf("line %d is cut short: the recorder ended before it had written all of it", number)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if string(line) == "end\n" {
			found.atEnd = true
			continue
		}
		h, err := parse(line)
		if err != nil {
			return fmt.Errorf("line %d is not a history: %w", number, err)
		}
		found.add(h)
	}
}

func (found *verdict) add(h *history) {
	found.histories++
	found.operations += h.asked()
	if !h.linearizable() {
		found.failures = append(found.failures, h)
	}
	if !h.ended() {
		found.unended = append(found.unended, h)
	}
}

func (found *verdict) print(out io.Writer) {
	if len(found.failures) > 0 {
		found.printFailure(out)
	} else if found.histories > 0 && found.status() == 0 {
		fmt.Fprintf(out, "%d histories of %d operations: all linearizable\n", found.histories, found.operations)
	} else if found.histories > 0 {
		fmt.Fprintf(out, "only %d histories of %d operations can be judged, and those are linearizable\n",
			found.histories, found.operations)
	}
	for _, h := range found.unended {
		fmt.Fprintf(out, "\nhistory %d of seed %d of %s did not end:\n\n", h.Number, h.Seed, h.Map)
		h.draw(out, h.firstCall())
	}
}

func (found *verdict) printFailure(out io.Writer) {
	smallest, original := found.smallest()
	fmt.Fprintf(out, "%s is not linearizable: %d of %d histories are not. The smallest, of history %d of seed %d:\n\n",
		original.Map, len(found.failures), found.histories, original.Number, original.Seed)
	smallest.draw(out, original.firstCall())
	smallest.blame(out)
	if smallest.asked() < original.asked() {
		fmt.Fprint(out, "\nWhat else happened in that history:\n\n")
		original.draw(out, original.firstCall())
	}
}

// smallest is the smallest failure, and the history that it is of. Histories in which changes met are
// looked at alone if there are any, and of what they shrink to that is preferred which shows several
// threads: where threads lose something of each other's, a key that is missing at the end says little.
func (found *verdict) smallest() (smallest, original *history) {
	var failures []*history
	for _, h := range found.failures {
		if h.changesMeet() {
			failures = append(failures, h)
		}
	}
	if len(failures) == 0 {
		failures = append(failures, found.failures...)
	}
	sort.SliceStable(failures, func(i, j int) bool { return len(failures[i].Operations) < len(failures[j].Operations) })
	if len(failures) > shrunk {
		failures = failures[:shrunk]
	}
	for _, h := range failures {
		less := shrink(h)
		if smallest == nil || before(less, smallest) {
			smallest, original = less, h
		}
	}
	return smallest, original
}

// before says which of two small histories is shown rather.
func before(a, b *history) bool {
	if a.threads() != b.threads() && (a.threads() < 2 || b.threads() < 2) {
		return a.threads() > b.threads()
	}
	return a.size() < b.size()
}
