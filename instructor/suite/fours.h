// Find out by exhaustive search what continuous fours prove. This code judges the suite's positions and shares no code with any
// engine.
//
// A victory by continuous fours (VCF; Allis, "Searching for Solutions in Games and Artificial Intelligence", 1994, chapter 5)
// is a sequence of stones, each of which threatens a five, so that every reply is forced, until one threatens two fives. Its
// depth is the number of the attacker's stones, including the one that makes five; the defender places one fewer.
//
//   Window   Five points in a row; everything here is defined by windows. The rules are freestyle: whoever owns all five
//            points of a window has won, and a longer row contains such a window. If a window has four stones of one colour
//            and an empty point, that point is a five point of the colour.
//   VCF      Every four of the attacker is tried, with the only reply that does not lose at once. A four is refuted if the
//            defender can make a five.
//   Holding  A stone holds if the opponent has no VCF after it. If a stone makes a four, the reply is forced; the stone holds
//            if some stone holds after that reply. Stones that do not hold lose by force, whatever else is on the board.
//   Falling  A stone falls if it holds and still loses by force: the opponent has a quiet stone that threatens a VCF, and every
//            reply to it loses (or there are several such stones, one after the other).
//
// A search that needs more nodes than its allowance throws Unfinished: an incomplete search proves nothing.

#ifndef SUITE_FOURS_H
#define SUITE_FOURS_H

#include <array>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace suite {

constexpr int SIZE = 15;
constexpr int POINTS = SIZE * SIZE;  // point = x * SIZE + y
constexpr int WINDOW = 5;
constexpr int BLACK = 0;
constexpr int WHITE = 1;
constexpr int EMPTY = 2;
constexpr int ANY_DEPTH = POINTS;

inline bool on_board(int x, int y) { return 0 <= x && x < SIZE && 0 <= y && y < SIZE; }

/// All windows, and the windows through each point.
struct Windows {
    std::vector<std::array<int, WINDOW>> points;
    std::array<std::vector<int>, POINTS> through;

    Windows() {
        for (int x = 0; x < SIZE; ++x) {
            for (int y = 0; y < SIZE; ++y) {
                for (const auto &[dx, dy] : {std::pair(1, 0), std::pair(0, 1), std::pair(1, 1), std::pair(1, -1)}) {
                    if (on_board(x + (WINDOW - 1) * dx, y + (WINDOW - 1) * dy)) {
                        std::array<int, WINDOW> window;
                        for (int i = 0; i < WINDOW; ++i) {
                            window[i] = (x + i * dx) * SIZE + y + i * dy;
                            through[window[i]].push_back(static_cast<int>(points.size()));
                        }
                        points.push_back(window);
                    }
                }
            }
        }
    }
};

inline const Windows WINDOWS;

/// The stones on the board. Invariant: `count_` says how many stones of each colour are in each window.
class Board {
   public:
    Board() : count_(WINDOWS.points.size(), {0, 0}) {
        stone_.fill(EMPTY);
        std::mt19937_64 generator(1);
        for (auto &pair : key_) {
            pair = {generator(), generator()};
        }
    }

    int stone(int point) const { return stone_[point]; }
    bool is_empty(int point) const { return stone_[point] == EMPTY; }
    int stones() const { return stones_; }
    std::uint64_t hash() const { return hash_; }
    int count(int window, int colour) const { return count_[window][colour]; }

    /// Place a stone and return whether it makes five or more.
    bool put(int point, int colour) {
        stone_[point] = colour;
        hash_ ^= key_[point][colour];
        ++stones_;
        bool five = false;
        for (const int window : WINDOWS.through[point]) {
            five |= ++count_[window][colour] == WINDOW;
        }
        return five;
    }

    void take(int point) {
        const int colour = stone_[point];
        for (const int window : WINDOWS.through[point]) {
            --count_[window][colour];
        }
        --stones_;
        hash_ ^= key_[point][colour];
        stone_[point] = EMPTY;
    }

    /// Return whether the window contains exactly `own` stones of the colour and none of the other colour.
    bool has(std::size_t window, int colour, int own) const {
        return count_[window][colour] == own && count_[window][1 - colour] == 0;
    }

    /// Return the points where the colour makes five or more.
    std::vector<int> five_points(int colour) const {
        std::vector<int> found;
        for (std::size_t window = 0; window < count_.size(); ++window) {
            if (has(window, colour, WINDOW - 1)) {
                add_empty(window, found);
            }
        }
        return found;
    }

    /// Return the points where the colour makes a four: a window with four of its stones and one empty point.
    std::vector<int> four_points(int colour) const {
        std::vector<int> found;
        for (std::size_t window = 0; window < count_.size(); ++window) {
            if (has(window, colour, WINDOW - 2)) {
                add_empty(window, found);
            }
        }
        return found;
    }

   private:
    void add_empty(std::size_t window, std::vector<int> &found) const {
        for (const int point : WINDOWS.points[window]) {
            bool fresh = is_empty(point);
            for (const int known : found) {
                fresh = fresh && known != point;
            }
            if (fresh) {
                found.push_back(point);
            }
        }
    }

    std::array<int, POINTS> stone_;
    std::vector<std::array<std::uint8_t, 2>> count_;
    std::array<std::array<std::uint64_t, 2>, POINTS> key_;
    std::uint64_t hash_ = 0;
    int stones_ = 0;
};

struct Unfinished : std::runtime_error {
    Unfinished() : std::runtime_error("more nodes than allowed") {}
};

/// Answers questions about one board. Each function restores the board before it returns.
class Judge {
   public:
    Judge(Board &board, long allowance) : board_(board), left_(allowance) {}

    /// Return whether `colour`, to move, has a VCF of at most `limit` stones of its own.
    bool wins(int colour, int limit = ANY_DEPTH) {
        std::vector<int> line;
        return search(colour, limit, line);
    }

    /// Return the depth of the shortest VCF, or 0 if there is none; set `line` to the attacker's stones in such a VCF.
    int depth(int colour, std::vector<int> &line) {
        if (!search(colour, ANY_DEPTH, line)) {
            return 0;
        }
        const int most = static_cast<int>(line.size());
        for (int limit = 1; limit < most; ++limit) {
            std::vector<int> shorter;
            if (search(colour, limit, shorter)) {
                line = shorter;
                return limit;
            }
        }
        return most;
    }

    /// Return whether the stone makes five or begins a VCF.
    bool begins_win(int colour, int point) {
        std::vector<int> line;
        return begins(colour, point, ANY_DEPTH, line);
    }

    /// Return all points where a stone holds. A stone at any other point loses by force.
    std::vector<int> holding(int colour) {
        std::vector<int> found;
        std::vector<int> known;
        for (int point = 0; point < POINTS; ++point) {
            if (board_.is_empty(point) && holds(colour, point, known)) {
                found.push_back(point);
            }
        }
        return found;
    }

    bool holds(int colour, int point) {
        std::vector<int> known;
        return holds(colour, point, known);
    }

    /// Return whether the opponent still wins after a stone that holds and makes no four. The opponent may play at most
    /// `quiet_stones` quiet stones, each of which threatens a VCF, and then a VCF. Every reply is tried; a four that holds
    /// counts as an escape.
    bool falls(int colour, int point, int quiet_stones) {
        const int other = 1 - colour;
        bool found = false;
        board_.put(point, colour);
        for (int quiet = 0; quiet < POINTS && !found; ++quiet) {
            if (board_.is_empty(quiet)) {
                board_.put(quiet, other);
                // A stone that makes a four is not quiet, since it must be answered at once.
                found = board_.five_points(other).empty() && wins(other) && all_fall(colour, quiet_stones - 1);
                board_.take(quiet);
            }
        }
        board_.take(point);
        return found;
    }

   private:
    struct Key {
        std::uint64_t hash;
        int colour;
        bool operator==(const Key &other) const { return hash == other.hash && colour == other.colour; }
    };
    struct Hash {
        std::size_t operator()(const Key &key) const { return key.hash ^ static_cast<std::uint64_t>(key.colour); }
    };

    bool search(int colour, int limit, std::vector<int> &line) {
        if (--left_ < 0) {
            throw Unfinished();
        }
        if (limit <= 0) {
            return false;
        }
        const std::vector<int> fives = board_.five_points(colour);
        if (!fives.empty()) {
            line = {fives.front()};
            return true;
        }
        if (limit == 1) {
            return false;
        }
        const Key key{board_.hash(), colour};
        const auto known = failed_.find(key);
        if (known != failed_.end() && known->second >= limit) {
            return false;
        }
        const std::vector<int> must = board_.five_points(1 - colour);
        if (must.size() < 2) {
            for (const int point : board_.four_points(colour)) {
                if ((must.empty() || must.front() == point) && begins(colour, point, limit, line)) {
                    return true;
                }
            }
        }
        failed_[key] = limit;
        return false;
    }

    /// Return whether this stone makes five or is the first of a VCF of at most `limit` stones.
    bool begins(int colour, int point, int limit, std::vector<int> &line) {
        if (board_.put(point, colour)) {
            board_.take(point);
            line = {point};
            return true;
        }
        bool won = false;
        const std::vector<int> fives = board_.five_points(colour);
        if (!fives.empty() && board_.five_points(1 - colour).empty()) {
            std::vector<int> rest;
            if (fives.size() > 1) {
                won = limit >= 2;
                rest = {fives.front()};
            } else {
                board_.put(fives.front(), 1 - colour);  // makes no five, since the defender had no five point
                won = search(colour, limit - 1, rest);
                board_.take(fives.front());
            }
            if (won) {
                line = {point};
                line.insert(line.end(), rest.begin(), rest.end());
            }
        }
        board_.take(point);
        return won;
    }

    /// Return whether this line of stones is a VCF for the colour, which is to move, in this position.
    bool follows(int colour, const std::vector<int> &line, std::size_t from = 0) {
        if (from == line.size() || !board_.is_empty(line[from])) {
            return false;
        }
        bool won = board_.put(line[from], colour);
        if (!won && board_.five_points(1 - colour).empty()) {
            const std::vector<int> fives = board_.five_points(colour);
            won = fives.size() > 1;
            if (fives.size() == 1) {
                board_.put(fives.front(), 1 - colour);
                won = follows(colour, line, from + 1);
                board_.take(fives.front());
            }
        }
        board_.take(line[from]);
        return won;
    }

    /// Return whether a stone holds. `known` is the opponent's VCF that refuted an earlier stone. It refutes most other stones
    /// too, so it is tried first.
    bool holds(int colour, int point, std::vector<int> &known) {
        const int other = 1 - colour;
        if (board_.put(point, colour)) {
            board_.take(point);
            return true;
        }
        bool held = false;
        if (board_.five_points(other).empty()) {
            const std::vector<int> fives = board_.five_points(colour);
            if (fives.size() > 1) {
                held = true;
            } else if (fives.size() == 1) {
                board_.put(fives.front(), other);
                held = !lost(colour);
                board_.take(fives.front());
            } else {
                std::vector<int> line;
                if (!follows(other, known)) {
                    held = !search(other, ANY_DEPTH, line);
                    if (!held) {
                        known = line;
                    }
                }
            }
        }
        board_.take(point);
        return held;
    }

    /// Return whether every stone of the colour, which is to move, loses to a VCF or to at most `quiet_stones` quiet stones.
    bool all_fall(int colour, int quiet_stones) {
        if (quiet_stones == 0 || lost(colour)) {
            return lost(colour);
        }
        if (wins(colour)) {
            return false;
        }
        for (const int point : holding(colour)) {
            board_.put(point, colour);
            const bool is_four = !board_.five_points(colour).empty();
            board_.take(point);
            if (is_four || !falls(colour, point, quiet_stones)) {
                return false;
            }
        }
        return true;
    }

    /// Return whether no stone of the colour, which is to move, holds.
    bool lost(int colour) {
        if (--left_ < 0) {
            throw Unfinished();
        }
        const Key key{board_.hash(), colour};
        const auto seen = lost_.find(key);
        if (seen != lost_.end()) {
            return seen->second;
        }
        bool none = !wins(colour);
        std::vector<int> known;
        // A full board would be a draw, but the positions of the suite are far from full.
        for (int point = 0; none && point < POINTS; ++point) {
            none = !board_.is_empty(point) || !holds(colour, point, known);
        }
        lost_[key] = none;
        return none;
    }

    Board &board_;
    long left_;
    std::unordered_map<Key, int, Hash> failed_;  // position -> a number of stones for which there is no VCF
    std::unordered_map<Key, bool, Hash> lost_;
};

}  // namespace suite

#endif
