#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"
#include "rust_map.h"

ASSAY_RUST_MAP(scc_tree_index)

namespace {

struct bytes {
  explicit bytes(std::string_view text) : begin(text.data()), size(text.size()) {}

  const char* begin;
  std::size_t size;
};

}  // namespace

extern "C" {
void* scc_strings_new();
void scc_strings_delete(void* map);
bool scc_strings_insert(const void* map, bytes key, std::uint64_t value);
bool scc_strings_erase(const void* map, bytes key);
rust::found scc_strings_find(const void* map, bytes key);
void scc_strings_visit(const void* map, bytes first,
                       bool (*visit)(void* context, bytes key, std::uint64_t value), void* context);
}

namespace {

class strings {
  struct functions {
    static constexpr auto make = scc_strings_new;
    static constexpr auto destroy = scc_strings_delete;
  };

 public:
  bool insert(const std::string& key, std::uint64_t value) {
    return scc_strings_insert(map_.get(), bytes(key), value);
  }
  bool erase(const std::string& key) { return scc_strings_erase(map_.get(), bytes(key)); }
  [[gnu::always_inline]] std::optional<std::uint64_t> find(const std::string& key) {
    return scc_strings_find(map_.get(), bytes(key)).get();
  }
  template <class Visit>
  void range(const std::string& first, const std::string& last, Visit&& each) {
    read(first, &last, each);
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& each) {
    read("", nullptr, each);
  }

 private:
  template <class Visit>
  void read(std::string_view first, const std::string* last, Visit& each) {
    rust::visit_from_rust visit(
        [last, &each, key = std::string()](bytes met, std::uint64_t value) mutable {
          key.assign(met.begin, met.size);
          if (last != nullptr && key > *last) return false;
          each(key, value);
          return true;
        });
    scc_strings_visit(map_.get(), bytes(first), visit.template function<bytes, std::uint64_t>,
                      &visit);
    visit.rethrow();
  }

  rust::owned<functions> map_;
};

const bool registered = [] {
  namespace subject = assay::subject;
  auto entry = subject::reclaiming(
      subject::describe_subject<rust::map_of_numbers<scc_tree_index_functions>>(
          "scc_tree_index",
          "Rust's scc::TreeIndex: a B+-tree whose searches take no locks; its ranges are not "
          "atomic"),
      "epochs");
  entry.types.push_back(subject::held_as<strings, std::string, std::uint64_t>());
  subject::register_subject(std::move(entry));
  return true;
}();

}  // namespace
