// Random graphs of tasks, whose results must be those of the same graph run by one thread in order.
//
//     openmp_random_graphs [GRAPHS [SEED]]
//
// A task's body is a list of steps: make a task, taskwait, taskgroup, taskwait depend. Tasks of one
// body are ordered by `depend` on cells of that body. Each task has a result, made of what it could
// see: cells that its clauses name, and results of tasks that it has waited for. What it may not
// rely on goes into no result, so that all results are determined by the graph.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace {

constexpr unsigned cells = 4;
constexpr unsigned deepest = 4;

struct node;

struct step {
  enum class kind { make, wait, group, wait_for_cell } what = kind::wait;
  std::unique_ptr<node> made;  // make
  std::vector<step> inner;     // group
  unsigned cell = 0;           // wait_for_cell
};

struct node {
  std::uint64_t id = 0;
  bool is_final = false;
  bool undeferred = false;
  bool untied = false;
  bool depends = false;
  unsigned pause = 0;
  std::vector<unsigned> in, out, inout, mutexinoutset;  // cells of the parent
  std::vector<step> steps;

  std::uint64_t cell[cells] = {};
  std::uint64_t result = 0;
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9E3779B97F4A7C15U;
  return a ^ (a >> 29U);
}

class generator {
 public:
  explicit generator(std::uint64_t seed) : draw_(seed) {}

  std::unique_ptr<node> root() {
    wide_ = one_in(100);  // more tasks than any queue has room for
    left_ = wide_ ? 1500 : 1 + below(60);
    auto made = std::make_unique<node>();
    made->steps = steps(0);
    return made;
  }

 private:
  unsigned below(unsigned end) { return static_cast<unsigned>(draw_() % end); }
  bool one_in(unsigned n) { return below(n) == 0; }

  std::vector<step> steps(unsigned depth) {
    std::vector<step> all;
    for (unsigned count = wide_ && depth == 0 ? 1000 : below(12); count > 0; --count) {
      step next;
      const unsigned kind = wide_ ? 0 : below(10);
      if (kind < 7) {
        if (left_ == 0) continue;
        --left_;
        next.what = step::kind::make;
        next.made = task(depth + 1);
      } else if (kind == 7) {
        next.what = step::kind::wait;
      } else if (kind == 8) {
        next.what = step::kind::wait_for_cell;
        next.cell = below(cells);
      } else {
        if (depth >= deepest) continue;
        next.what = step::kind::group;
        next.inner = steps(depth + 1);
      }
      all.push_back(std::move(next));
    }
    return all;
  }

  std::unique_ptr<node> task(unsigned depth) {
    auto made = std::make_unique<node>();
    made->id = ++last_id_;
    made->is_final = one_in(16);
    made->undeferred = one_in(12);
    made->untied = one_in(3);
    made->pause = wide_ ? 0 : below(3) * below(200);
    made->depends = one_in(2);
    if (made->depends) {
      for (unsigned cell = 0; cell < cells; ++cell) {
        std::vector<unsigned>* const clauses[] = {&made->in, &made->out, &made->inout,
                                                  &made->mutexinoutset};
        if (one_in(2)) clauses[below(4)]->push_back(cell);
      }
    }
    if (depth < deepest && (!wide_ || one_in(8))) made->steps = steps(depth);
    return made;
  }

  std::mt19937_64 draw_;
  std::uint64_t last_id_ = 0;
  unsigned left_ = 0;
  bool wide_ = false;
};

// Enough work that others come in between.
void pause(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) asm volatile("" : : : "memory");
}

std::uint64_t results_below(const node& of);

std::uint64_t results_of(const std::vector<step>& steps) {
  std::uint64_t sum = 0;
  for (const step& each : steps) {
    if (each.what == step::kind::make) sum = mixed(sum, results_below(*each.made));
    if (each.what == step::kind::group) sum = mixed(sum, results_of(each.inner));
  }
  return sum;
}

// With all that it made.
std::uint64_t results_below(const node& of) { return mixed(of.result, results_of(of.steps)); }

template <bool parallel>
void run_body(node& mine, node& parent, bool in_final);

template <bool parallel>
void make(node& made, node& mine, bool in_final) {
  const bool final_here = in_final || made.is_final;
  if constexpr (!parallel) {
    run_body<false>(made, mine, final_here);
    return;
  }
  const unsigned in = static_cast<unsigned>(made.in.size());
  const unsigned out = static_cast<unsigned>(made.out.size());
  const unsigned inout = static_cast<unsigned>(made.inout.size());
  const unsigned mutexes = static_cast<unsigned>(made.mutexinoutset.size());
  node* const child = &made;
  node* const at = &mine;
  if (made.depends && made.untied) {
#pragma omp task untied default(none) firstprivate(child, at, final_here) shared(made, mine) \
    final(made.is_final) if (!made.undeferred)                                               \
    depend(iterator(i = 0 : in), in : mine.cell[made.in[i]])                                 \
    depend(iterator(i = 0 : out), out : mine.cell[made.out[i]])                              \
    depend(iterator(i = 0 : inout), inout : mine.cell[made.inout[i]])                        \
    depend(iterator(i = 0 : mutexes), mutexinoutset : mine.cell[made.mutexinoutset[i]])
    run_body<parallel>(*child, *at, final_here);
  } else if (made.depends) {
#pragma omp task default(none) firstprivate(child, at, final_here) shared(made, mine) \
    final(made.is_final) if (!made.undeferred)                                        \
    depend(iterator(i = 0 : in), in : mine.cell[made.in[i]])                          \
    depend(iterator(i = 0 : out), out : mine.cell[made.out[i]])                       \
    depend(iterator(i = 0 : inout), inout : mine.cell[made.inout[i]])                 \
    depend(iterator(i = 0 : mutexes), mutexinoutset : mine.cell[made.mutexinoutset[i]])
    run_body<parallel>(*child, *at, final_here);
  } else if (made.untied) {
#pragma omp task untied default(none) firstprivate(child, at, final_here) \
    final(made.is_final) if (!made.undeferred)
    run_body<parallel>(*child, *at, final_here);
  } else {
#pragma omp task default(none) firstprivate(child, at, final_here) \
    final(made.is_final) if (!made.undeferred)
    run_body<parallel>(*child, *at, final_here);
  }
}

// Adds to `children` those made.
template <bool parallel>
void run_steps(std::vector<step>& steps, node& mine, bool in_final,
               std::vector<const node*>& children) {
  for (step& each : steps) {
    switch (each.what) {
      case step::kind::make:
        make<parallel>(*each.made, mine, in_final);
        children.push_back(each.made.get());
        if (each.made->undeferred || in_final) {
          mine.result = mixed(mine.result, each.made->result);
        }
        break;
      case step::kind::wait:
        if constexpr (parallel) {
#pragma omp taskwait
        }
        for (const node* child : children) mine.result = mixed(mine.result, child->result);
        for (const std::uint64_t cell : mine.cell) mine.result = mixed(mine.result, cell);
        break;
      case step::kind::group:
        if constexpr (parallel) {
#pragma omp taskgroup
          run_steps<parallel>(each.inner, mine, in_final, children);
        } else {
          run_steps<parallel>(each.inner, mine, in_final, children);
        }
        mine.result = mixed(mine.result, results_of(each.inner));
        break;
      case step::kind::wait_for_cell:
        if constexpr (parallel) {
#pragma omp taskwait depend(in : mine.cell[each.cell])
        }
        mine.result = mixed(mine.result, mine.cell[each.cell]);
        break;
    }
  }
}

template <bool parallel>
void run_body(node& mine, node& parent, bool in_final) {
  mine.result = mine.id;
  std::uint64_t before[cells];
  std::copy(parent.cell, parent.cell, before);
  for (const auto* const cells_read : {&mine.in, &mine.inout}) {
    for (const unsigned cell : *cells_read) {
      before[cell] = parent.cell[cell];
      mine.result = mixed(mine.result, before[cell]);
    }
  }
  for (const unsigned cell : mine.mutexinoutset) before[cell] = parent.cell[cell];
  std::vector<const node*> children;
  run_steps<parallel>(mine.steps, mine, in_final, children);
  pause(mine.pause);
  for (const unsigned cell : mine.in) mine.result = mixed(mine.result, parent.cell[cell]);
  for (const unsigned cell : mine.out) parent.cell[cell] = mine.id;
  for (const unsigned cell : mine.inout) parent.cell[cell] = mixed(before[cell], mine.id);
  for (const unsigned cell : mine.mutexinoutset) parent.cell[cell] = before[cell] + mine.id;
}

void take_results(node& of, std::vector<std::uint64_t>& results) {
  results.push_back(std::exchange(of.result, 0));
  for (std::uint64_t& cell : of.cell) results.push_back(std::exchange(cell, 0));
  const auto take = [&](const auto& self, std::vector<step>& steps) -> void {
    for (step& each : steps) {
      if (each.what == step::kind::make) take_results(*each.made, results);
      if (each.what == step::kind::group) self(self, each.inner);
    }
  };
  take(take, of.steps);
}

std::vector<std::uint64_t> results_of(node& root) {
  std::vector<std::uint64_t> results;
  take_results(root, results);
  return results;
}

// Each of several threads makes a graph, or one does and all run its tasks.
bool holds(std::uint64_t seed, int threads) {
  const bool of_each = seed % 4 == 0;
  const std::size_t graphs = of_each ? static_cast<std::size_t>(threads) : 1;
  std::vector<std::unique_ptr<node>> roots;
  std::vector<std::vector<std::uint64_t>> expected;
  node nothing;
  for (std::size_t i = 0; i < graphs; ++i) {
    roots.push_back(generator(seed * 64 + i).root());
    run_body<false>(*roots.back(), nothing, false);
    expected.push_back(results_of(*roots.back()));
  }
  if (of_each) {
    std::size_t next = 0;
#pragma omp parallel num_threads(threads)
    {
      std::size_t mine = 0;
      mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
      node around;
      if (mine < roots.size()) run_body<true>(*roots[mine], around, false);
    }
    for (; next < roots.size(); ++next) run_body<false>(*roots[next], nothing, false);
  } else {
    std::vector<std::uint64_t> results;
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
      run_body<true>(*roots.front(), nothing, false);
      // The barrier after it completes all tasks.
#pragma omp single
      results = results_of(*roots.front());
    }
    return results == expected.front();
  }
  for (std::size_t i = 0; i < graphs; ++i) {
    if (results_of(*roots[i]) != expected[i]) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t graphs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  constexpr std::uint64_t at_a_time = 50;  // with the same team
  for (std::uint64_t graph = seed; graph < seed + graphs; ++graph) {
    const int threads = 1 + static_cast<int>(graph / at_a_time % 16);
    if (!holds(graph, threads)) {
      std::printf("other results than in order, %d threads; run it again: %s 1 %llu\n", threads,
                  argv[0], static_cast<unsigned long long>(graph));
      return 1;
    }
  }
}
