// The ideas of the engine, each of which can be switched off, to see what it is worth.

#ifndef OPTIONS_H
#define OPTIONS_H

#include <array>
#include <string>

struct Options {
    bool table = true;
    bool pvs = true;
    bool lmr = true;
    bool killers = true;
    bool history = true;
    bool vcf = true;
    bool lazy_vcf = true;
    bool root_vcf = true;
    bool root_vct = true;
    bool root_defence = true;
    bool extension = true;
    bool danger = true;
    bool forced = true;
    bool width = true;
    bool narrow = true;
    bool distance = true;
    bool wins = true;
    bool balance = true;
};

struct Idea {
    const char *name;
    bool Options::*flag;
    const char *what;
};

constexpr std::array<Idea, 18> IDEAS = {{
    {"table", &Options::table, "transposition table: cut-offs, and the best move known is looked at first"},
    {"pvs", &Options::pvs, "principal variation search: all but the first move are only asked whether they are better"},
    {"lmr", &Options::lmr, "late move reductions: quiet moves far back in the order are first looked at less deeply"},
    {"killers", &Options::killers, "quiet moves that refuted a neighbour are looked at sooner"},
    {"history", &Options::history, "and those that refuted often, anywhere"},
    {"vcf", &Options::vcf, "victory by continuous fours, at the leaves"},
    {"lazyvcf", &Options::lazy_vcf, "but not at leaves that are good enough without"},
    {"rootvcf", &Options::root_vcf, "the same before the search"},
    {"rootvct", &Options::root_vct, "victory by continuous threats before the search"},
    {"rootdefence", &Options::root_defence, "the same for the opponent, after a move that is to be the best at the root"},
    {"extension", &Options::extension, "the answer to a four costs no depth"},
    {"danger", &Options::danger, "a position with a four or an open three to answer is no leaf"},
    {"forced", &Options::forced, "only such moves as make or stop a five, or answer an open four to be, where there are any"},
    {"width", &Options::width, "a limit to the quiet moves of a node"},
    {"narrow", &Options::narrow, "a limit that is the smaller the nearer the leaves are"},
    {"distance", &Options::distance, "no line is followed that is longer than a win already found"},
    {"wins", &Options::wins, "two fours, or an open one, are a win without a search"},
    {"balance", &Options::balance, "black's second stone where neither side is ahead, since white may swap"},
}};

/// Switch off the ideas of a comma-separated list.
///
/// Returns: empty, or the sentence for whoever wrote a list with an unknown name.
std::string switch_off(const std::string &names, Options &options);

#endif
