// A NoGo player that speaks the Go Text Protocol, version 2: player --search uct|rave|random --simulations N --seed S.
//
// Besides the usual commands it knows all_legal COLOUR (the legal moves), perft COLOUR N (the number of legal sequences of N
// moves that this colour begins), set_random_seed S and showboard. genmove answers resign if there is no legal move. komi and
// time_settings are accepted and change nothing: the player uses its number of simulations for every move.
// Exit codes: 0 quit or the end of the input, 2 the call was wrong.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "search.h"

namespace nogo {

const std::string COLUMNS = "ABCDEFGHJKLMNOPQRST";
const std::vector<std::string> COMMANDS{
    "all_legal", "boardsize",       "clear_board", "final_score",   "genmove", "known_command",
    "komi",      "list_commands",   "name",        "perft",         "play",    "protocol_version",
    "quit",      "set_random_seed", "showboard",   "time_settings", "undo",    "version"};

constexpr std::uint64_t MOST_SIMULATIONS = 2'000'000;  // whose tree takes 0.9 GB

/// A command that cannot be carried out; the message is the answer.
struct Refusal {
    std::string message;
};

struct Options {
    Method method = Method::UCT;
    std::string search = "uct";
    int simulations = 10000;
    std::uint64_t seed = 1;
};

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// A number from `least` to `most` that consists of at most 15 digits.
std::optional<std::uint64_t> parse_number(const std::string &text, std::uint64_t least, std::uint64_t most) {
    if (text.empty() || text.size() > 15 || text.find_first_not_of("0123456789") != std::string::npos) {
        return std::nullopt;
    }
    const std::uint64_t number = std::stoull(text);
    return least <= number && number <= most ? std::optional(number) : std::nullopt;
}

std::string vertex(Cell cell) { return COLUMNS[static_cast<std::size_t>(column_of(cell))] + std::to_string(row_of(cell) + 1); }

std::uint64_t perft(const Position &position, Colour colour, int depth) {
    if (depth == 0) {
        return 1;
    }
    std::uint64_t sequences = 0;
    for (const Cell move : position.legal_moves(colour)) {
        Position after = position;
        after.play(move, colour);
        sequences += perft(after, other(colour), depth - 1);
    }
    return sequences;
}

/// One conversation: the game so far, and the search.
class Player {
   public:
    explicit Player(const Options &options)
        : options_(options), random_(options.seed), search_(options.method, options.simulations, random_) {}

    std::string answer(const std::string &name, const std::vector<std::string> &words) {
        if (name == "protocol_version") return "2";
        if (name == "name") return "NoGo " + options_.search;
        if (name == "version") return options_.search == "random" ? "1" : std::to_string(options_.simulations);
        if (name == "list_commands") return list_commands();
        if (name == "known_command") {
            return std::find(COMMANDS.begin(), COMMANDS.end(), word(words, 0)) == COMMANDS.end() ? "false" : "true";
        }
        if (name == "boardsize") return boardsize(word(words, 0));
        if (name == "clear_board") return start_game(position().size());
        if (name == "komi") return ignore_numbers(words, 1);
        if (name == "time_settings") return ignore_numbers(words, 3);
        if (name == "quit") return "";
        if (name == "set_random_seed") return set_random_seed(word(words, 0));
        if (name == "play") return play(colour(words), word(words, 1));
        if (name == "genmove") return genmove(colour(words));
        if (name == "undo") return undo();
        if (name == "all_legal") return all_legal(colour(words));
        if (name == "perft") return count_sequences(colour(words), word(words, 1));
        if (name == "final_score") return final_score();
        if (name == "showboard") return "\n" + board();
        throw Refusal{"unknown command"};
    }

   private:
    struct State {
        Position position;
        Colour last_mover;  // white before the first move
    };

    static std::string word(const std::vector<std::string> &words, std::size_t index) {
        return index < words.size() ? words[index] : "";
    }

    static Colour colour(const std::vector<std::string> &words) {
        const std::string text = lower(word(words, 0));
        if (text == "b" || text == "black") return BLACK;
        if (text == "w" || text == "white") return WHITE;
        throw Refusal{"invalid color"};
    }

    /// The answer to a command that changes nothing but must have so many numbers.
    static std::string ignore_numbers(const std::vector<std::string> &words, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            std::istringstream stream(word(words, i));
            double number = 0.0;
            if (!(stream >> number) || stream.peek() != EOF) throw Refusal{"syntax error"};
        }
        return "";
    }

    static std::string list_commands() {
        std::string text;
        for (const std::string &command : COMMANDS) {
            text += (text.empty() ? "" : "\n") + command;
        }
        return text;
    }

    const Position &position() const { return history_.back().position; }

    std::string start_game(int size) {
        history_.assign(1, {Position(size), WHITE});
        return "";
    }

    std::string boardsize(const std::string &text) {
        const auto size = parse_number(text, SMALLEST, LARGEST);
        if (!size) throw Refusal{"unacceptable size"};
        return start_game(static_cast<int>(*size));
    }

    std::string set_random_seed(const std::string &text) {
        const auto seed = parse_number(text, 0, UINT64_MAX);
        if (!seed) throw Refusal{"syntax error"};
        random_ = Random(*seed);
        return "";
    }

    Cell parse_vertex(const std::string &text) const {
        const std::size_t x = text.empty() ? std::string::npos : COLUMNS.find(static_cast<char>(std::toupper(text[0])));
        const auto row = parse_number(text.empty() ? "" : text.substr(1), 1, static_cast<std::uint64_t>(position().size()));
        if (x == std::string::npos || static_cast<int>(x) >= position().size() || !row) {
            throw Refusal{lower(text) == "pass" ? "illegal move" : "invalid vertex"};
        }
        return cell_at(static_cast<int>(x), static_cast<int>(*row) - 1);
    }

    std::string play(Colour mover, const std::string &text) {
        const Cell cell = parse_vertex(text);
        if (!position().is_legal(cell, mover)) throw Refusal{"illegal move"};
        place(cell, mover);
        return "";
    }

    void place(Cell cell, Colour mover) {
        history_.push_back({position(), mover});
        history_.back().position.play(cell, mover);
    }

    std::string genmove(Colour mover) {
        const Cell cell = search_.choose(position(), mover);
        if (cell == 0) return "resign";
        place(cell, mover);
        return vertex(cell);
    }

    std::string undo() {
        if (history_.size() == 1) throw Refusal{"cannot undo"};
        history_.pop_back();
        return "";
    }

    std::string all_legal(Colour mover) const {
        std::string text;
        for (const Cell cell : position().legal_moves(mover)) {
            text += (text.empty() ? "" : " ") + vertex(cell);
        }
        return text;
    }

    std::string count_sequences(Colour mover, const std::string &text) const {
        const auto depth = parse_number(text, 0, LARGEST * LARGEST);
        if (!depth) throw Refusal{"syntax error"};
        return std::to_string(perft(position(), mover, static_cast<int>(*depth)));
    }

    /// The winner, if the side to move has no legal move. NoGo has no points.
    std::string final_score() const {
        const Colour last_mover = history_.back().last_mover;
        if (!position().legal_moves(other(last_mover)).empty()) throw Refusal{"the game is not over"};
        return last_mover == BLACK ? "B+" : "W+";
    }

    std::string board() const {
        std::string text;
        for (int y = position().size() - 1; y >= 0; --y) {
            text += (y < 9 ? " " : "") + std::to_string(y + 1);
            for (int x = 0; x < position().size(); ++x) {
                text += std::string(" ") + "XO."[position().at(cell_at(x, y))];
            }
            text += "\n";
        }
        text += "  ";
        for (int x = 0; x < position().size(); ++x) {
            text += std::string(" ") + COLUMNS[static_cast<std::size_t>(x)];
        }
        return text;
    }

    Options options_;
    Random random_;
    Search search_;
    std::vector<State> history_{{Position(9), WHITE}};
};

/// What the protocol reads of a line: no comment, and no control character but the tab.
std::string relevant_part(const std::string &line) {
    std::string text = line.substr(0, line.find('#'));
    const auto is_discarded = [](unsigned char c) { return c != '\t' && std::iscntrl(c) != 0; };
    text.erase(std::remove_if(text.begin(), text.end(), is_discarded), text.end());
    return text;
}

void converse(Player &player) {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream stream(relevant_part(line));
        std::string id;
        std::string name;
        stream >> name;
        if (parse_number(name, 0, INT32_MAX)) {
            id = name;
            name.clear();
            stream >> name;
        }
        if (name.empty() && id.empty()) continue;
        std::vector<std::string> words;
        for (std::string word; stream >> word;) {
            words.push_back(word);
        }
        try {
            const std::string text = player.answer(name, words);
            std::cout << "=" << id << " " << text << "\n\n" << std::flush;
        } catch (const Refusal &refusal) {
            std::cout << "?" << id << " " << refusal.message << "\n\n" << std::flush;
        }
        if (name == "quit") return;
    }
}

std::optional<Options> parse_options(const std::vector<std::string> &words) {
    Options options;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        if (words[i] == "--search" && (words[i + 1] == "uct" || words[i + 1] == "rave" || words[i + 1] == "random")) {
            options.search = words[i + 1];
            options.method = words[i + 1] == "uct" ? Method::UCT : words[i + 1] == "rave" ? Method::RAVE : Method::RANDOM;
        } else if (const auto number = parse_number(words[i + 1], 1, MOST_SIMULATIONS); number && words[i] == "--simulations") {
            options.simulations = static_cast<int>(*number);
        } else if (const auto seed = parse_number(words[i + 1], 0, UINT64_MAX); seed && words[i] == "--seed") {
            options.seed = *seed;
        } else {
            return std::nullopt;
        }
    }
    return words.size() % 2 == 0 ? std::optional(options) : std::nullopt;
}

}  // namespace nogo

int main(int count, char **arguments) {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    const auto options = nogo::parse_options(words);
    if (!options) {
        std::cerr << "expected [--search uct|rave|random] [--simulations N] [--seed S], with N from 1 to 2000000; got";
        for (const std::string &word : words) {
            std::cerr << " " << word;
        }
        std::cerr << "\n";
        return 2;
    }
    nogo::Player player(*options);
    nogo::converse(player);
    return 0;
}
