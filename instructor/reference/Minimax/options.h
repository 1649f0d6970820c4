// The ideas of the engine. Each can be switched off, to measure what it is worth (docs/engines.md).

#ifndef OPTIONS_H
#define OPTIONS_H

#include <array>
#include <string>

struct Options {
    bool table = true;         // transposition table: cut-offs, and the best move of an earlier search comes first
    bool pvs = true;           // principal variation search: every move but the first gets an empty window
    bool lmr = true;           // late move reductions: quiet moves late in the order are first searched less deeply
    bool killers = true;       // killer moves: quiet moves that refuted a sibling node come earlier
    bool history = true;       // history heuristic: so do quiet moves that refuted often, anywhere in the tree
    bool vcf = true;           // victory by continuous fours (VCF), searched for at the leaves
    bool lazy_vcf = true;      // but not at leaves whose evaluation already reaches beta
    bool root_vcf = true;      // VCF before the search
    bool root_vct = true;      // victory by continuous threats (VCT) before the search
    bool root_defence = true;  // a new best move at the root is checked for a VCT of the opponent
    bool extension = true;     // the forced answer to a four costs no depth
    bool danger = true;        // no position is a leaf while a four or an open three awaits its answer
    bool forced = true;        // where a five or an open four threatens, only moves that make or answer one are searched
    bool width = true;         // a limit on the quiet moves of a node
    bool narrow = true;        // a lower limit nearer the leaves
    bool distance = true;      // mate distance pruning: no line that is longer than a win already found
    bool wins = true;          // an open four and a double four count as won without a search
    bool futility = true;      // near the leaves, a position evaluated far above beta is cut off
    bool razoring = true;      // and one evaluated far below alpha is only searched for a VCF
    bool skipping = true;      // and in one evaluated below alpha only the first move and those that threaten are searched
    bool iir = true;           // internal iterative reduction: a position that the table does not know is searched less deeply
    bool balance = true;       // black's second stone goes where neither side is ahead, since white may swap
};

/// An option and its name in GOMOKU_WITHOUT.
struct Idea {
    const char *name;
    bool Options::*flag;
};

constexpr std::array<Idea, 22> IDEAS = {{
    {"table", &Options::table},
    {"pvs", &Options::pvs},
    {"lmr", &Options::lmr},
    {"killers", &Options::killers},
    {"history", &Options::history},
    {"vcf", &Options::vcf},
    {"lazyvcf", &Options::lazy_vcf},
    {"rootvcf", &Options::root_vcf},
    {"rootvct", &Options::root_vct},
    {"rootdefence", &Options::root_defence},
    {"extension", &Options::extension},
    {"danger", &Options::danger},
    {"forced", &Options::forced},
    {"width", &Options::width},
    {"narrow", &Options::narrow},
    {"distance", &Options::distance},
    {"wins", &Options::wins},
    {"futility", &Options::futility},
    {"razoring", &Options::razoring},
    {"skipping", &Options::skipping},
    {"iir", &Options::iir},
    {"balance", &Options::balance},
}};

/// Switch off the ideas of a comma-separated list.
///
/// Returns: an empty string, or a sentence that names what is wrong with the list.
std::string switch_off(const std::string &names, Options &options);

#endif
