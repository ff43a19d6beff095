package main

import (
	"math"
	"sort"
)

// shrink makes a smaller history of one that is not linearizable, which is not linearizable either,
// for the same reason.
//
// Not every operation may be left out. Without an insert, a search that found its value would look
// like the mistake. These may:
//
//   - the operations on other keys, which do not matter to this one;
//   - what was called after the first return that no order explains; what was going on at that
//     return stays, as pending, because it may have taken effect;
//   - operations that changed nothing: each is one condition less for an order to meet;
//   - all before a moment at which nothing was going on and what the map held follows; the last
//     operation that changed the map stays, as what the map held does not show which it was.
func shrink(h *history) *history {
	for {
		before := len(h.Operations)
		h = cutStart(cutEnd(dropReads(oneKey(h))))
		if len(h.Operations) == before {
			return h
		}
	}
}

func oneKey(h *history) *history {
	for _, op := range h.Operations {
		if op.Kind == "size" {
			return h
		}
	}
	// A walk without any operation on the key says least.
	var best *history
	for _, key := range h.keys() {
		part := h.of(key)
		if part.decide() {
			continue
		}
		if best == nil || (best.asked() == 0 && part.asked() > 0) ||
			(part.asked() > 0 || best.asked() == 0) && len(part.Operations) < len(best.Operations) {
			best = part
		}
	}
	if best == nil {
		return h
	}
	return best
}

// cutEnd keeps what began before the first return that no order explains.
func cutEnd(h *history) *history {
	var returns []int64
	for _, op := range h.Operations {
		if !op.pending {
			returns = append(returns, op.Return)
		}
	}
	sort.Slice(returns, func(i, j int) bool { return returns[i] < returns[j] })
	first := sort.Search(len(returns), func(i int) bool { return !h.until(returns[i]).decide() })
	if first == len(returns) {
		return h
	}
	return h.until(returns[first])
}

// until is what was known at a moment.
func (h *history) until(moment int64) *history {
	known := *h
	known.Operations = nil
	for _, op := range h.Operations {
		if op.Call > moment {
			continue
		}
		if op.Return > moment {
			op.pending = true
			op.Return = never
		}
		known.Operations = append(known.Operations, op)
	}
	return &known
}

func dropReads(h *history) *history {
	for i := len(h.Operations) - 1; i >= 0; i-- {
		if h.Operations[i].changes() {
			continue
		}
		if less := h.withoutOperation(i); !less.decide() {
			h = less
		}
	}
	return h
}

func (h *history) withoutOperation(i int) *history {
	less := *h
	less.Operations = append(append([]operation{}, h.Operations[:i]...), h.Operations[i+1:]...)
	return &less
}

// cutStart drops what ended before the latest moment at which nothing was going on and what the map
// held is certain, but keeps a change if there is one.
func cutStart(h *history) *history {
	ops := append([]operation{}, h.Operations...)
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].Call < ops[j].Call })
	best := h
	last := int64(math.MinInt64)
	for i, op := range ops {
		if i > 0 && last < op.Call && (anyChanges(ops[i:]) || !anyChanges(ops)) {
			past := *h
			past.Operations = ops[:i]
			if state, certain := past.leaves(); certain {
				rest := *h
				rest.Start = state
				rest.Operations = ops[i:]
				best = &rest
			}
		}
		if op.Return > last {
			last = op.Return
		}
	}
	return best
}

func anyChanges(operations []operation) bool {
	for i := range operations {
		if operations[i].changes() {
			return true
		}
	}
	return false
}

// leaves is what the map holds after a history, if only one answer is possible.
func (h *history) leaves() ([]element, bool) {
	var state []element
	if !h.decide() {
		return nil, false
	}
	for _, key := range h.keys() {
		part := h.of(key)
		candidates := [][]element{nil}
		candidates = append(candidates, split(part.Start)...)
		for _, op := range part.Operations {
			if op.leavesValue() && op.changes() {
				candidates = append(candidates, []element{{key, op.Value}})
			}
		}
		var possible [][]element
		for _, held := range candidates {
			if part.endsWith(key, held) {
				possible = append(possible, held)
			}
		}
		if len(possible) != 1 {
			return nil, false
		}
		state = append(state, possible[0]...)
	}
	return state, true
}

func split(elements []element) [][]element {
	var each [][]element
	for _, e := range elements {
		each = append(each, []element{e})
	}
	return each
}

// endsWith says whether a history of one key may leave that key so.
func (h *history) endsWith(key uint64, held []element) bool {
	asked := *h
	look := operation{Kind: walk, Key: key, Last: key, Call: never - 1, Return: never, elements: held}
	asked.Operations = append(append([]operation{}, h.Operations...), look)
	return asked.decide()
}
