"""Words by which a lesson and a moment meet though they do not share one: what work they belong to.

Written by hand from what development work is commonly called. English, and names of programs, which
are the same in every language. A word may belong to several kinds of work.
"""

from __future__ import annotations

from tasks.embedding.words import stem

QUIET = 0.2
"""Weight of a word that stands in any request."""
COMMON = frozenset(
    stem(word)
    for word in """
    able actually add already always another anything app available away back bad bar based bit
    box both break bring bug build building call case change check clear code come command complete
    correct create current day different does each easy else end enough ever every everything exist
    existing expect explain fact far feature file find fine first fix fixed folder follow found full
    general give go good great hand happen hard help high hold idea implement important include
    instead issue item job keep kind know large last later leave left less level line list little
    long look lot main man many match maybe mean mess method mind move much name need never new next
    nice nothing now number off often ok old only open own page part people person pick place plain
    please point possible problem program project proper put question quick read ready real really
    reason remove rename repo repository rest result return right run same save say screen second
    see send sense set short show side simple since single small something sort start state stay
    step still stop stuff support sure take talk tell text thank thing think three through time
    today together told tool top true try two update use used user value view want way week well
    whole without wonder word work working world write wrong year yes yet
    """.split()  # noqa: SIM905  a list a line each is no easier to read
)
"""Words of any request: shared, they say little about whether a lesson bears on it."""
DOING = frozenset(
    stem(word)
    for word in """
    add adapt adjust annotate apply automate build bump change clean clear commit configure connect
    convert copy correct create cut delete deploy design draft drop edit enable disable export
    extend extract fetch finish fix format generate get handle implement import improve insert
    install integrate introduce let link load log make mend merge migrate move open optimise
    optimize patch plot port prepare print publish push put rebase reboot redo refactor regenerate
    release remove rename render replace reply reset resize restart restyle revert rewrite rotate
    run save scale send serve set ship shorten show simplify sort split start stop store style
    submit swap switch tag train translate trim turn undo uninstall update upgrade upload use
    wire wrap write
    """.split()  # noqa: SIM905  a list a line each is no easier to read
)
"""Verbs with which an order to do something opens."""
ASKING = frozenset(
    """
    am are did do does has have how is should was were what when where which who whom whose why
    wann warum was welche welcher welches wer wie wieso wo comment où pourquoi quand que quel quelle
    qui cómo cuándo dónde qué quién
    """.split()  # noqa: SIM905  a list a line each is no easier to read
)
"""Words with which a question opens."""

_WORK = {
    "test": "test spec pytest jest vitest rspec xunit nunit xctest mocha unittest tdd fixture mock "
    "coverage e2e playwright cypress assertion factory nextest regression",
    "package": "install uninstall dependency dependencies package packages library crate gem pod "
    "npm pnpm yarn bun pip uv poetry conda sdk bump upgrade outdated cocoapods requirement "
    "abhängigkeit paket dépendance paquet dependencia",
    "commit": "commit amend squash",
    "push": "push",
    "review": "pr mr review reviewer",
    "branch": "branch checkout worktree rebase",
    "merge": "merge conflict rebase",
    "deploy": "deploy deployment release ship publish staging production rollout upload testflight "
    "beta live veröffentlichen bereitstellen",
    "version": "version tag release bump changelog testflight beta",
    "database": "database db sql migration migrate schema column postgres mysql sqlite query orm "
    "datenbank",
    "styling": "css style styling stylesheet tailwind restyle colour color layout sass scss theme "
    "margin padding font",
    "documentation": "doc docs documentation readme docstring document wiki rustdoc jsdoc",
    "comment": "comment comments",
    "logging": "log logs logging logger print println printf slog stdout console",
    "failure": "error errors exception panic unwrap raise throw catch result damaged handle",
    "secret": "secret password token credential credentials vault passphrase apikey key keys",
    "typing": "type types hint hints annotate annotation signature mypy pyright tsc typing",
    "lint": "lint linter eslint ruff format formatter prettier clippy warning warnings swiftlint "
    "golangci shellcheck black",
    "speed": "fast faster slow slower speed performance benchmark benchmarks profile optimise "
    "optimize latency quick criterion frame",
    "picture": "image images picture pictures photo photos png jpeg jpg webp gif bild foto",
    "figure": "figure figures plot plots chart charts graph diagram svg curve matplotlib ggplot",
    "table": "table tables booktabs column columns tabular",
    "language": "translate translation translations localise localize i18n locale spanish german "
    "french deutsch english deutsche übersetze übersetzen traduire traducir language",
    "server": "server serve port localhost preview",
    "delete": "delete remove drop wipe purge clean cleanup rm erase prune lösche löschen",
    "configuration": "config configuration setting settings env environment option options "
    "variable variables yaml toml einstellung",
    "clock": "time date datetime clock timezone utc zone hour hours day days minute now interval",
    "prose": "post article newsletter paragraph draft essay chapter section introduction abstract "
    "discussion artikel beitrag announcement note readers reader",
    "headline": "headline headlines title titles heading",
    "reference": "citation citations cite reference references bibliography bib bibtex",
    "money": "price prices amount amounts money cent cents euro euros dollar total totals currency "
    "payment voucher discount vat preis",
    "cloud": "terraform tofu cloud aws gcp azure bucket subnet vpc resource resources pulumi",
    "cluster": "kubectl kubernetes k8s helm ingress pod pods namespace",
    "host": "host hosts reboot restart bastion machine",
    "container": "docker container containers compose podman image dockerfile",
    "notebook": "notebook notebooks jupyter ipynb",
    "training": "train training gpu epoch epochs finetune model cuda",
    "random": "random seed seeds reproducible reproducibility deterministic",
    "shell": "shell bash script scripts zsh powershell sh",
    "concurrency": "async await callback callbacks thread threads concurrency promise mutex fetch",
    "api": "endpoint endpoints api json serializer route rest graphql",
    "wire": "protobuf proto grpc buf protoc stub stubs",
    "plan": "plan apply terraform",
    "string": "string strings label labels text wording copy",
    "mail": "mail email smtp",
    "data": "data dataset csv raw measurements dump seeds",
    "memory": "pointer pointers unsafe arena",
    "simulator": "simulator emulator device",
    "python": "python py pytest uv pip pandas numpy",
    "r": "r rscript dplyr tidyverse ggplot",
    "rails": "rails rake bundle rspec ruby gem gems",
    "latex": "latex latexmk pdflatex tex paper",
    "swift": "swift xcode xcodebuild ios",
    "windows": "windows powershell",
}

WORK: dict[str, tuple[str, ...]] = {}
"""The kinds of work that a stem belongs to."""
for _kind, _words in _WORK.items():
    for _word in _words.split():
        WORK[stem(_word)] = tuple(dict.fromkeys((*WORK.get(stem(_word), ()), _kind)))
