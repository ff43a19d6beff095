package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"
)

// call is an operation as one would write it in a program.
func (op *operation) call() string {
	switch op.Kind {
	case "insert", "insert_or_assign", "update":
		return fmt.Sprintf("%s(%d, %d)", op.Kind, op.Key, op.Value)
	case "range", "erase_range":
		return fmt.Sprintf("%s(%d, %d)", op.Kind, op.Key, op.Last)
	case "size", "empty", "snapshot":
		return op.Kind + "()"
	case walk:
		return "walk at rest"
	default:
		return fmt.Sprintf("%s(%d)", op.Kind, op.Key)
	}
}

func (op *operation) answer() string {
	switch op.Kind {
	case "insert", "erase", "insert_or_assign", "empty":
		return fmt.Sprint(op.truth)
	case "size", "erase_range":
		return fmt.Sprint(op.number)
	case "find", "update", "extract":
		if len(op.elements) == 0 {
			return "nothing"
		}
		return fmt.Sprint(op.elements[0][1])
	default:
		return show(op.elements)
	}
}

func show(elements []element) string {
	if len(elements) == 0 {
		return "nothing"
	}
	// Histories have few keys. What has more goes round in circles.
	const most = 10
	var shown []string
	for i, e := range elements {
		if i == most {
			shown = append(shown, fmt.Sprintf("and %d more", len(elements)-most))
			break
		}
		shown = append(shown, fmt.Sprintf("%d -> %d", e[0], e[1]))
	}
	return "{" + strings.Join(shown, ", ") + "}"
}

// A line of the table: what happened at one moment in one column.
type moment struct {
	time      int64
	isReturn  bool
	column    int
	operation *operation
}

// draw shows a history as one column for each thread, with time running down from `start`.
func (h *history) draw(out io.Writer, start int64) {
	columns, titles := h.columns()
	moments := h.moments(columns)
	rows := [][]string{append([]string{"ns"}, titles...)}
	running := make([]bool, len(titles))
	for _, m := range moments {
		row := make([]string, len(titles)+1)
		row[0] = fmt.Sprint(m.time - start)
		for i, is := range running {
			if is {
				row[i+1] = "│"
			}
		}
		if m.isReturn {
			row[m.column+1] = "└ " + m.operation.answer()
		} else {
			row[m.column+1] = "┌ " + m.operation.call()
		}
		running[m.column] = !m.isReturn
		rows = append(rows, row)
	}
	fmt.Fprintf(out, "  at first the map holds %s\n\n", show(h.Start))
	table(out, rows)
	for i := range h.Operations {
		if h.Operations[i].pending {
			fmt.Fprintf(out, "  %s had not returned, and may have taken effect or not\n", h.Operations[i].call())
		}
	}
}

// blame names the operation that no order explains.
func (h *history) blame(out io.Writer) {
	blamed := h.unexplained()
	answer := ": " + blamed.answer()
	if len(blamed.elements) > 3 {
		answer = "" // it is long, and stands just above
	}
	fmt.Fprintf(out, "\n  No order of these operations explains the answer of %s%s.\n", blamed.call(), answer)
}

// unexplained is the operation whose return makes the history one that no order explains.
func (h *history) unexplained() *operation {
	var last *operation
	for i := range h.Operations {
		op := &h.Operations[i]
		if !op.pending && (last == nil || op.Return > last.Return) {
			last = op
		}
	}
	return last
}

func (h *history) columns() (map[int]int, []string) {
	seen := map[int]bool{}
	for _, op := range h.Operations {
		seen[op.Thread] = true
	}
	var threads []int
	for thread := range seen {
		if thread >= 0 {
			threads = append(threads, thread)
		}
	}
	sort.Ints(threads)
	if seen[-1] {
		threads = append(threads, -1)
	}
	columns := map[int]int{}
	var titles []string
	for i, thread := range threads {
		columns[thread] = i
		title := fmt.Sprintf("thread %d", thread)
		if thread < 0 {
			title = "afterwards"
		}
		titles = append(titles, title)
	}
	return columns, titles
}

func (h *history) moments(columns map[int]int) []moment {
	var moments []moment
	for i := range h.Operations {
		op := &h.Operations[i]
		moments = append(moments, moment{op.Call, false, columns[op.Thread], op})
		if !op.pending {
			moments = append(moments, moment{op.Return, true, columns[op.Thread], op})
		}
	}
	// At the same time, calls come before returns, as they overlap; but a thread returns before it
	// calls again.
	sort.SliceStable(moments, func(i, j int) bool {
		a, b := moments[i], moments[j]
		if a.time != b.time {
			return a.time < b.time
		}
		if a.column == b.column && a.operation != b.operation {
			return a.operation.Call < b.operation.Call
		}
		return !a.isReturn && b.isReturn
	})
	return moments
}

func table(out io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if n := utf8.RuneCountInString(cell); n > widths[i] {
				widths[i] = n
			}
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("  %*s", widths[0], row[0])
		for i, cell := range row[1:] {
			line += "   " + cell + strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(cell))
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}
