// A small engine for the Gomocup (Piskvork) pipe protocol, written for the tests: `pbrain [FAULT [ANSWER]]`.
//
// It scores windows of five: a window with stones of only one colour adds to the value of its points, and it adds more the more
// stones it has. Between its moves the engine writes messages, as such engines do. FAULT says how to break the protocol at move
// number ANSWER (from 1).

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

namespace {

constexpr int MOST = 30;
constexpr std::array<long, 6> OWN = {1, 12, 150, 2000, 100000, 0};  // by own stones in a window without opposing ones
constexpr std::array<long, 6> OTHER = {0, 8, 100, 1400, 30000, 0};  // by opposing stones in a window without own ones

int size = 0;
int board[MOST][MOST];  // 0 empty, 1 own, 2 the opponent's
std::string fault;
int fault_at = 0;
int answers = 0;

bool on_board(int x, int y) { return 0 <= x && x < size && 0 <= y && y < size; }

void clear() {
    for (auto &column : board) {
        for (int &stone : column) {
            stone = 0;
        }
    }
}

/// Return the value of a stone on an empty point, added up for both sides.
long worth(int x, int y) {
    static const int STEPS[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    long sum = -2L * (std::abs(2 * x - size + 1) + std::abs(2 * y - size + 1));  // points near the middle first
    for (const auto &step : STEPS) {
        for (int shift = -4; shift <= 0; ++shift) {
            std::array<int, 3> count = {0, 0, 0};
            bool inside = true;
            for (int i = shift; i < shift + 5 && inside; ++i) {
                const int a = x + i * step[0];
                const int b = y + i * step[1];
                inside = on_board(a, b);
                if (inside) {
                    ++count[static_cast<std::size_t>(board[a][b])];
                }
            }
            if (inside && count[2] == 0) {
                sum += OWN[static_cast<std::size_t>(count[1])];
            }
            if (inside && count[1] == 0) {
                sum += OTHER[static_cast<std::size_t>(count[2])];
            }
        }
    }
    return sum;
}

std::pair<int, int> best_point() {
    std::pair<int, int> best(-1, -1);
    long most = 0;
    for (int x = 0; x < size; ++x) {
        for (int y = 0; y < size; ++y) {
            const long value = board[x][y] == 0 ? worth(x, y) : 0;
            if (board[x][y] == 0 && (best.first < 0 || value > most)) {
                best = {x, y};
                most = value;
            }
        }
    }
    return best;
}

void say(const std::string &text) { std::cout << text << std::flush; }

/// Break the protocol as FAULT says and return whether that replaced the answer.
bool misbehave() {
    if (fault == "silent") {
        say("ERROR my tables are broken\n");
        return true;
    }
    if (fault == "crash") {
        std::abort();
    }
    if (fault == "exit") {
        say("MESSAGE I leave\n");
        std::exit(3);
    }
    while (fault == "flood") {
        say("MESSAGE thinking\nDEBUG thinking\n\n");
    }
    const std::pair<std::string, std::string> texts[] = {
        {"words", "my move is 3,3\n"}, {"no_comma", "3 3\n"},     {"three_numbers", "3,3,3\n"},
        {"off_board", "99,3\n"},       {"negative", "-2,3\n"},    {"swap", "-1,-1\n"},
        {"corner", "0,0\n"},           {"unasked", "3,3\n9,9\n"}, {"huge_line", "MESSAGE " + std::string(100000, 'x') + "\n"},
    };
    for (const auto &[name, text] : texts) {
        if (fault == name) {
            say(text);
            return true;
        }
    }
    return false;
}

void answer() {
    ++answers;
    say("MESSAGE move " + std::to_string(answers) + "\r\n\r\nDEBUG looking\n");
    if (answers == fault_at && misbehave()) {
        return;
    }
    const auto [x, y] = best_point();
    board[x][y] = 1;
    // The last line is incomplete, as if the engine had been stopped there; the rest follows when it is asked again.
    say(std::to_string(x) + "," + std::to_string(y) + "\nSUGGEST 1,1\nDEB");
    for (int i = 0; fault == "chatter" && i < 300; ++i) {
        say("UG " + std::string(60, '.') + "\nDEB");
    }
}

void read_board(std::ofstream &log) {
    clear();
    std::string line;
    while (std::getline(std::cin, line) && log << line << std::endl && line.rfind("DONE", 0) != 0) {
        int x = 0;
        int y = 0;
        int owner = 0;
        if (std::sscanf(line.c_str(), "%d,%d,%d", &x, &y, &owner) == 3 && on_board(x, y)) {
            board[x][y] = owner;
        }
    }
}

void start(const std::string &command, std::istringstream &words) {
    if (command == "START") {
        words >> size;
    }
    if (size < 5 || size > MOST || fault == "no_start") {
        say("ERROR this size is not for me\n");
        return;
    }
    clear();
    say(fault == "silent_start" ? "MESSAGE thinking about it\n" : "OK - ready\n");
}

/// Carry out a command and return whether the answer was a move.
bool obey(const std::string &command, std::istringstream &words, std::ofstream &log) {
    int x = 0;
    int y = 0;
    char comma = 0;
    if (command == "START" || (command == "RESTART" && fault != "no_restart")) {
        start(command, words);
        return false;
    }
    if (command == "TURN" && words >> x >> comma >> y && on_board(x, y) && board[x][y] == 0) {
        board[x][y] = 2;
        answer();
        return true;
    }
    if (command == "BEGIN") {
        answer();
        return true;
    }
    if (command == "BOARD") {
        read_board(log);
        answer();
        return true;
    }
    if (command == "ABOUT") {
        say(fault == "no_name" ? "UNKNOWN command\n" : "name=\"windows of five\", version=\"1.0\", author=\"tests\"\n");
    } else if (command != "INFO") {
        say("UNKNOWN " + command + "\n");
    }
    return false;
}

}  // namespace

int main(int count, char **arguments) {
    fault = count > 1 ? arguments[1] : "";
    fault_at = count > 2 ? std::atoi(arguments[2]) : 0;
    const char *log_file = std::getenv("PBRAIN_LOG");
    std::ofstream log(log_file != nullptr ? log_file : "/dev/null", std::ios::app);
    std::string line;
    bool has_unfinished_line = false;  // see answer()
    while (std::getline(std::cin, line)) {
        log << line << std::endl;
        if (has_unfinished_line) {
            say("UG the rest of a line\n");
        }
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "END") {
            return 0;
        }
        has_unfinished_line = obey(command, words, log);
    }
    return 0;
}
