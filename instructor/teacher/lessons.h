// Games of a teacher for a network to learn from: the file that they are written to, and the command line of a teacher.
//
// The first line of the file holds the settings, each further line one game, as JSON. `opening` is the number of stones put
// down at random; `best` and `scores` belong to the positions after them. Moves are numbered y * size + x as on Board, black's
// first. Scores are for the side to move; beyond 900000 they are proven. `winner` is 0 (black), 1 (white) or -1. `random` lists
// the plies whose move was drawn. A game depends on nothing but its seed and the settings. The same command continues where the
// file ends, also after a kill.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace lessons {

constexpr auto BETWEEN_REPORTS = std::chrono::seconds(30);
constexpr std::uint64_t MANY = 1'000'000'000;

struct Lesson {
    std::uint64_t seed = 0;
    int opening = 0;
    int winner = -1;
    std::vector<int> moves;
    std::vector<int> best;
    std::vector<int> scores;
    std::vector<int> random;
};

/// An option of the command line with a number, whose value at the beginning is the default.
struct Option {
    std::string name;
    std::uint64_t least;
    std::uint64_t most;
    std::uint64_t &value;
};

inline std::string list(const char *name, const std::vector<int> &numbers) {
    std::string text = std::string(",\"") + name + "\":[";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        text += (i > 0 ? "," : "") + std::to_string(numbers[i]);
    }
    return text + "]";
}

inline std::string line_of(const Lesson &lesson) {
    return "{\"seed\":" + std::to_string(lesson.seed) + ",\"opening\":" + std::to_string(lesson.opening) +
           ",\"winner\":" + std::to_string(lesson.winner) + list("moves", lesson.moves) + list("best", lesson.best) +
           list("scores", lesson.scores) + list("random", lesson.random) + "}";
}

/// Read FILE and the options; returns an empty string, or a sentence that says what is wrong.
inline std::string read_arguments(const std::vector<std::string> &arguments, std::string &file,
                                  const std::vector<Option> &options) {
    std::string call = "FILE", names;
    for (const Option &option : options) {
        call += " [" + option.name + " N]";
        names += (names.empty() ? "" : ", ") + option.name;
    }
    if (arguments.size() % 2 == 0 || arguments[0].empty() || arguments[0][0] == '-') {
        return "expected " + call;
    }
    file = arguments[0];
    for (std::size_t i = 1; i < arguments.size(); i += 2) {
        const Option *option = nullptr;
        for (const Option &each : options) {
            option = each.name == arguments[i] ? &each : option;
        }
        if (option == nullptr) {
            return "expected one of " + names + "; got '" + arguments[i] + "'";
        }
        char *end = nullptr;
        const std::string &text = arguments[i + 1];
        const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < option->least || number > option->most) {
            return "expected a number from " + std::to_string(option->least) + " to " + std::to_string(option->most) +
                   " after " + option->name + "; got '" + text + "'";
        }
        option->value = number;
    }
    return "";
}

/// How many games the file holds. An incomplete last line, left by a killed run, is cut off. `complaint` is set if the file was
/// made with other settings or cannot be written.
inline std::uint64_t games_before(const std::string &path, const std::string &settings, std::string &complaint) {
    std::ifstream file(path);
    std::string line;
    std::uint64_t lines = 0;
    std::uintmax_t whole = 0;
    while (std::getline(file, line) && !file.eof()) {
        if (lines == 0 && line != settings) {
            complaint = "expected " + path + " to be of these settings; it begins with " + line.substr(0, 100);
            return 0;
        }
        ++lines;
        whole += line.size() + 1;
    }
    file.close();
    if (lines == 0 && settings.rfind(line, 0) != 0) {
        complaint = "expected " + path + " to be a file of games; it begins with " + line.substr(0, 100);
        return 0;
    }
    if (std::filesystem::exists(path)) {
        std::filesystem::resize_file(path, whole);
    }
    std::ofstream longer(path, std::ios::app);
    if (lines == 0) {
        longer << settings << "\n" << std::flush;
    }
    if (!longer) {
        complaint = "expected " + path + " to be writable; it is not";
    }
    return lines == 0 ? 0 : lines - 1;
}

/// Play the games that the file lacks, each from its own seed, and append them; returns the exit code.
inline int teach(const std::string &path, const std::string &settings, std::uint64_t first_seed, std::uint64_t games,
                 const std::function<Lesson(std::uint64_t)> &play) {
    std::string complaint;
    std::uint64_t done = games_before(path, settings, complaint);
    if (!complaint.empty()) {
        std::cerr << "teacher: " << complaint << std::endl;
        return 2;
    }
    std::ofstream file(path, std::ios::app);
    const std::uint64_t first = done;
    const auto start = std::chrono::steady_clock::now();
    auto reported = start;
    std::size_t positions = 0;
    while (done < games) {
        const Lesson lesson = play(first_seed + done);
        file << line_of(lesson) << "\n" << std::flush;
        if (!file) {
            std::cerr << "teacher: expected room for more games in " << path << "; the disk is full or gone" << std::endl;
            return 2;
        }
        positions += lesson.best.size();
        ++done;
        const auto now = std::chrono::steady_clock::now();
        if (now - reported > BETWEEN_REPORTS || done == games) {
            reported = now;
            const double spent_s = std::chrono::duration<double>(now - start).count();
            const double left_s = spent_s / static_cast<double>(done - first) * static_cast<double>(games - done);
            std::fprintf(stderr, "%llu of %llu games, %zu positions, %.1f a second, %.0f min left\n",
                         static_cast<unsigned long long>(done), static_cast<unsigned long long>(games), positions,
                         static_cast<double>(positions) / spent_s, left_s / 60);
        }
    }
    return 0;
}

}  // namespace lessons
