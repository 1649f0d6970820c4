// The transposition table (Zobrist 1970): what earlier searches found out about a position, whatever order of moves led to it.

#ifndef TABLE_H
#define TABLE_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evaluate.h"
#include "position.h"

enum Bound : std::uint8_t { UPPER, LOWER, EXACT };

struct Entry {
    std::uint64_t hash = 0;
    std::int32_t score = 0;  // proven wins and losses counted from the position itself, not from the root
    std::int16_t best_cell = NO_CELL;
    std::int8_t depth = -1;
    Bound bound = UPPER;

    /// Whether the score decides a search of this depth and window, for a position `ply` moves below the root.
    bool decides(int wanted_depth, int alpha, int beta, int ply) const {
        const int found = score_at(ply);
        return depth >= wanted_depth &&
               (bound == EXACT || (bound == LOWER && found >= beta) || (bound == UPPER && found <= alpha));
    }

    /// The score with proven wins and losses counted from the root.
    int score_at(int ply) const { return score > SURE_WIN ? score - ply : score < -SURE_WIN ? score + ply : score; }
};

/// One entry for each remainder of a hash; a new one always replaces the old one. Switched off, it stores nothing.
class TranspositionTable {
   public:
    explicit TranspositionTable(bool in_use) : in_use_(in_use), entries_(SIZE_OF_TABLE) {}

    /// The entry of this very position, or nullptr.
    const Entry *find(std::uint64_t hash) const {
        const Entry &entry = entries_[hash % SIZE_OF_TABLE];
        return in_use_ && entry.hash == hash ? &entry : nullptr;
    }

    /// Store an entry whose score counts from a root `ply` moves above.
    void store(Entry entry, int ply) {
        if (in_use_) {
            entry.score += entry.score > SURE_WIN ? ply : entry.score < -SURE_WIN ? -ply : 0;
            entries_[entry.hash % SIZE_OF_TABLE] = entry;
        }
    }

   private:
    static constexpr std::size_t SIZE_OF_TABLE = std::size_t{1} << 20;

    const bool in_use_;
    std::vector<Entry> entries_;
};

#endif
