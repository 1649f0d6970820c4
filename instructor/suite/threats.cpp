// Judge the positions of the suite, and find new ones (docs/arena.md, "Positions").
//
//   threats verify < POSITIONS         prints the facts about each position, one JSON object per line
//
//   threats find SEED GAMES            lets a noisy player play itself and prints hard positions: those with one to three
//                                      stones that hold
//
//   threats deepen SEED < POSITIONS    plays on from these positions and prints hard positions with wins at least as deep
//
// A position is a line of numbers: x y of each stone, in the order of play from the empty board, starting with black.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "fours.h"

namespace {

using suite::Board;
using suite::Judge;
using suite::POINTS;
using suite::SIZE;

constexpr long VERIFY_NODES = 2'000'000;
constexpr int QUIET_STONES = 1;
constexpr long FIND_NODES = 100'000;
constexpr std::size_t MOST_ANSWERS = 3;
constexpr std::size_t MOST_STONES = 90;
constexpr int EASY_WIN = 2;     // stones; positions with a win this short are left out
constexpr int EASY_THREAT = 3;  // so are those with a win this short to stop, unless fours by the side to move might help
constexpr int DEEP = 6;         // wins of this depth are worth deepening
constexpr int TRIES = 60;

std::string as_json(const std::vector<int> &points) {
    std::ostringstream text;
    text << "[";
    for (std::size_t i = 0; i < points.size(); ++i) {
        text << (i ? ", [" : "[") << points[i] / SIZE << ", " << points[i] % SIZE << "]";
    }
    text << "]";
    return text.str();
}

// ---------------------------------------------------------------------------------------------------------------- verify

/// Return whether this stone makes an open three: one more stone on one of its lines would give that line two five points.
bool makes_open_three(Board &board, int point, int colour) {
    bool found = false;
    board.put(point, colour);
    for (const auto &[dx, dy] : {std::pair(1, 0), std::pair(0, 1), std::pair(1, 1), std::pair(1, -1)}) {
        for (int step = 1 - suite::WINDOW; step < suite::WINDOW && !found; ++step) {
            const int x = point / SIZE + step * dx;
            const int y = point % SIZE + step * dy;
            if (!suite::on_board(x, y) || !board.is_empty(x * SIZE + y)) {
                continue;
            }
            board.put(x * SIZE + y, colour);
            int on_line = 0;
            for (const int five : board.five_points(colour)) {
                on_line += (five / SIZE - x) * dy == (five % SIZE - y) * dx;
            }
            board.take(x * SIZE + y);
            found = on_line >= 2;
        }
    }
    board.take(point);
    return found;
}

/// Put the moves on an empty board, starting with black, and return the colour to move.
int set_up(Board &board, const std::vector<int> &moves) {
    int colour = suite::BLACK;
    for (const int move : moves) {
        if (!board.is_empty(move)) {
            throw std::invalid_argument("a point is taken twice");
        }
        if (board.put(move, colour)) {
            throw std::invalid_argument("the game is over");
        }
        colour = 1 - colour;
    }
    return colour;
}

/// Return those of the holding stones that make no four and fall.
std::vector<int> falling_among(const Board &board, Judge &judge, int colour, const std::vector<int> &holding) {
    std::vector<int> falling;
    const std::vector<int> fours = board.four_points(colour);
    for (const int point : holding) {
        if (std::find(fours.begin(), fours.end(), point) == fours.end() && judge.falls(colour, point, QUIET_STONES)) {
            falling.push_back(point);
        }
    }
    return falling;
}

std::string facts(const std::vector<int> &moves) {
    Board board;
    const int colour = set_up(board, moves);
    Judge judge(board, VERIFY_NODES);
    std::vector<int> own_line;
    std::vector<int> threat_line;
    const int own = judge.depth(colour, own_line);
    const int threat = judge.depth(1 - colour, threat_line);
    std::vector<int> winning;
    std::vector<int> threes;
    for (int point = 0; point < POINTS; ++point) {
        if (board.is_empty(point)) {
            if (judge.begins_win(colour, point)) {
                winning.push_back(point);
            }
            if (makes_open_three(board, point, colour)) {
                threes.push_back(point);
            }
        }
    }
    const std::vector<int> holding = judge.holding(colour);
    const bool is_defence = own == 0 && holding.size() <= MOST_ANSWERS;
    const std::vector<int> falling = is_defence ? falling_among(board, judge, colour, holding) : std::vector<int>();
    std::ostringstream text;
    text << "{\"depth\": " << own << ", \"line\": " << as_json(own_line) << ", \"threat_depth\": " << threat
         << ", \"threat_line\": " << as_json(threat_line) << ", \"winning\": " << as_json(winning)
         << ", \"holding\": " << as_json(holding) << ", \"falling\": " << as_json(falling)
         << ", \"fours\": " << as_json(board.four_points(colour)) << ", \"threes\": " << as_json(threes) << "}";
    return text.str();
}

std::vector<int> parse(const std::string &line) {
    std::istringstream words(line);
    std::vector<int> moves;
    int x = 0;
    int y = 0;
    while (words >> x) {
        if (!(words >> y) || !suite::on_board(x, y)) {
            throw std::invalid_argument("expected x y of each stone");
        }
        moves.push_back(x * SIZE + y);
    }
    if (!words.eof()) {
        throw std::invalid_argument("expected numbers");
    }
    return moves;
}

int verify() {
    std::string line;
    while (std::getline(std::cin, line)) {
        try {
            std::cout << facts(parse(line)) << std::endl;
        } catch (const std::runtime_error &error) {
            std::cout << "{\"unknown\": \"" << error.what() << "\"}" << std::endl;
        } catch (const std::invalid_argument &error) {
            std::cerr << "threats: " << error.what() << ": " << line << std::endl;
            return 2;
        }
    }
    return 0;
}

// ------------------------------------------------------------------------------------------------------------------ find

/// Return the move of a careless player. It counts windows, with noise, and sees fours and threes but no combinations of them,
/// so it overlooks wins.
int careless_stone(const Board &board, int colour, std::mt19937_64 &generator, double noise) {
    constexpr double OWN[suite::WINDOW] = {1, 12, 90, 900, 1e6};
    constexpr double THEIRS[suite::WINDOW] = {1, 9, 60, 700, 1e5};
    std::uniform_real_distribution<double> factor(1 - noise, 1);
    int best = 0;
    double highest = -1;
    for (int point = 0; point < POINTS; ++point) {
        if (!board.is_empty(point)) {
            continue;
        }
        double worth = 0;
        for (const int window : suite::WINDOWS.through[point]) {
            const int own = board.count(window, colour);
            const int theirs = board.count(window, 1 - colour);
            worth += theirs == 0 ? OWN[own] : own == 0 ? THEIRS[theirs] : 0;
        }
        worth *= factor(generator);
        if (worth > highest) {
            highest = worth;
            best = point;
        }
    }
    return best;
}

/// A game in progress.
struct Game {
    Board board;
    std::vector<int> moves;

    int colour() const { return static_cast<int>(moves.size() % 2); }

    /// Play a stone and return whether it ends the game.
    bool play(int point) {
        const bool over = board.put(point, colour());
        moves.push_back(point);
        return over;
    }

    void take_back() {
        board.take(moves.back());
        moves.pop_back();
    }

    std::string text() const {
        std::string line;
        for (const int point : moves) {
            line += (line.empty() ? "" : " ") + std::to_string(point / SIZE) + " " + std::to_string(point % SIZE);
        }
        return line;
    }
};

/// Return whether the position deserves a place in the suite: few stones hold, and it takes a search to see which.
bool is_hard(Game &game, Judge &judge) {
    const int own = game.colour();
    const int other = 1 - own;
    if (!game.board.five_points(own).empty() || !game.board.five_points(other).empty() || judge.wins(own, EASY_WIN) ||
        !judge.wins(other) || (!judge.wins(own) && judge.wins(other, EASY_THREAT) && game.board.four_points(own).empty())) {
        return false;
    }
    const std::size_t holding = judge.holding(own).size();
    return 1 <= holding && holding <= MOST_ANSWERS;
}

bool is_hard(Game &game) {
    Judge judge(game.board, FIND_NODES);
    try {
        return is_hard(game, judge);
    } catch (const suite::Unfinished &) {
        return false;
    }
}

/// Return the depth of the shortest VCF of the side to move and set `line` to its stones; 0 if there is none or it takes too
/// long to find.
int depth_of(Game &game, std::vector<int> &line) {
    Judge judge(game.board, FIND_NODES);
    try {
        return judge.depth(game.colour(), line);
    } catch (const suite::Unfinished &) {
        return 0;
    }
}

/// Let both sides overlook the win on the board: the side to move plays near some stone, the other on the line of the win or
/// where it threatens most. A pair of stones is kept if the win after it is at least as deep; hard positions on the way are
/// printed.
void deepen(Game game, std::vector<int> line, std::mt19937_64 &generator) {
    std::size_t depth = line.size();
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(generator); };
    for (int attempt = 0; attempt < TRIES && game.moves.size() < MOST_STONES; ++attempt) {
        const int near = game.moves[below(game.moves.size())];
        const int x = near / SIZE + static_cast<int>(below(5)) - 2;
        const int y = near % SIZE + static_cast<int>(below(5)) - 2;
        if (!suite::on_board(x, y) || !game.board.is_empty(x * SIZE + y)) {
            continue;
        }
        if (!game.play(x * SIZE + y) && game.board.five_points(1 - game.colour()).empty()) {
            int answer = line[below(line.size())];
            if (below(3) > 0 || !game.board.is_empty(answer)) {
                answer = careless_stone(game.board, game.colour(), generator, 0.7);
            }
            std::vector<int> longer;
            if (!game.play(answer) && game.board.five_points(1 - game.colour()).empty() &&
                static_cast<std::size_t>(depth_of(game, longer)) >= depth) {
                line = longer;
                depth = line.size();
                if (is_hard(game)) {
                    std::cout << game.text() << std::endl;
                }
                continue;
            }
            game.take_back();
        }
        game.take_back();
    }
}

int deepen_all(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::string text;
    while (std::getline(std::cin, text)) {
        Game game;
        for (const int move : parse(text)) {
            game.play(move);
        }
        std::vector<int> line;
        if (depth_of(game, line) > 0) {
            deepen(game, line, generator);
        }
    }
    return 0;
}

void play(std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::uniform_int_distribution<int> centre(4, 10);
    std::uniform_int_distribution<int> beside(-3, 3);
    const double noise = std::uniform_real_distribution<double>(0.2, 0.8)(generator);
    Game game;
    while (game.moves.size() < MOST_STONES) {
        int move = centre(generator) * SIZE + centre(generator);
        if (!game.moves.empty() && game.moves.size() < 6) {
            const int x = game.moves.front() / SIZE + beside(generator);
            const int y = game.moves.front() % SIZE + beside(generator);
            move = suite::on_board(x, y) ? x * SIZE + y : game.moves.front();
            if (!game.board.is_empty(move)) {
                continue;
            }
        } else if (!game.moves.empty()) {
            move = careless_stone(game.board, game.colour(), generator, noise);
        }
        if (game.play(move)) {
            return;
        }
        if (game.moves.size() < 12) {
            continue;
        }
        if (is_hard(game)) {
            std::cout << game.text() << std::endl;
        }
        std::vector<int> line;
        if (depth_of(game, line) >= DEEP) {
            deepen(game, line, generator);
        }
    }
}

}  // namespace

int main(int count, char **words) {
    if (count == 2 && std::strcmp(words[1], "verify") == 0) {
        return verify();
    }
    if (count == 4 && std::strcmp(words[1], "find") == 0) {
        const std::uint64_t seed = std::strtoull(words[2], nullptr, 10);
        const std::uint64_t games = std::strtoull(words[3], nullptr, 10);
        for (std::uint64_t game = 0; game < games; ++game) {
            play(seed * 1'000'003 + game);
        }
        return 0;
    }
    if (count == 3 && std::strcmp(words[1], "deepen") == 0) {
        return deepen_all(std::strtoull(words[2], nullptr, 10));
    }
    std::cerr << "usage: threats verify < POSITIONS | threats find SEED GAMES | threats deepen SEED < POSITIONS" << std::endl;
    return 2;
}
