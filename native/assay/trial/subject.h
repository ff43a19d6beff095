// How a map becomes a subject: one file, one line.
//
//     #include <optional>
//
//     #include "assay/trial/subject.h"
//
//     class my_map {
//      public:
//       class handle {
//        public:
//         bool insert(std::uint64_t key, std::uint64_t value);
//         bool erase(std::uint64_t key);
//         std::optional<std::uint64_t> find(std::uint64_t key);
//       };
//       handle attach();
//       template <class Visit>
//       void for_each(Visit&& visit);  // calls visit(key, value) for every element
//     };
//     static const assay::trial::subject<my_map> registered{
//         "my_map", "what it is, in a few words"};
//
// Linked with assay::trial, which brings main(), that is a whole trial program. Keys and values are
// std::uint64_t; a key is never 0 and always below 2^63. See assay/maps/concept.h for what each
// function promises. A map may also have
//
//     static constexpr unsigned max_threads = 1;   // more threads are refused
//     static constexpr bool holds_nothing = true;  // neither prefilled nor validated
//     explicit my_map(assay::trial::map_hints);    // else its default constructor is called
//
// A map whose threads need nothing inside it has insert, erase and find itself, and no class
// `handle`: its attach() returns `assay::plain_handle(*this)`, see assay/maps/plain_handle.h.

#ifndef ASSAY_TRIAL_SUBJECT_H_
#define ASSAY_TRIAL_SUBJECT_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "assay/host/compiled_as.h"
#include "assay/trial/measured_map.h"

namespace assay::trial {

// What a program knows of one subject.
struct subject_entry {
  std::string name;
  std::string description;
  std::optional<unsigned> max_threads;
  bool holds_nothing;
  std::unique_ptr<measured_map> (*build)(const map_hints&);
  host::compilation compiled{};  // of the map and the loop that measures it
};

// Every subject of this program, ordered by name.
[[nodiscard]] std::span<const subject_entry> registry();

// The subject of that name. Throws bad_request, naming the nearest one, if there is none.
[[nodiscard]] const subject_entry& find_subject(std::string_view name);

// Adds a subject. Throws std::logic_error if its name is taken or does not match [a-z][a-z0-9_]*.
void register_subject(subject_entry entry);

template <class Map>
[[nodiscard]] subject_entry describe_subject(std::string_view name, std::string_view description) {
  subject_entry entry{std::string(name), std::string(description), std::nullopt, false,
                      [](const map_hints& hints) -> std::unique_ptr<measured_map> {
                        return std::make_unique<measured<Map>>(hints);
                      }};
  if constexpr (requires { Map::max_threads; }) entry.max_threads = Map::max_threads;
  if constexpr (requires { Map::holds_nothing; }) entry.holds_nothing = Map::holds_nothing;
  entry.compiled = host::compiled_as();
  return entry;
}

// Registers `Map` when constructed, which is meant to happen before main().
template <class Map>
class subject {
 public:
  subject(std::string_view name, std::string_view description) {
    register_subject(describe_subject<Map>(name, description));
  }
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_SUBJECT_H_
