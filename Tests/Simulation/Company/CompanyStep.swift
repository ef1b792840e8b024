/// One thing that one device does, as far as the search tells them apart.
enum CompanyStep {
    case tap(Int)
    /// Time passes: the clock of an idle device moves.
    case tick(Int)
    case take(Int, author: Int, sequence: Int, teller: Int)
    case begin(Int, Ballot)
    case promise(Int, Ballot)
    case propose(Int, CompanyView)
    case accept(Int, Vote)
    case decide(Int, CompanyView)
    case learn(Int, CompanyView)
    case adopt(Int, from: Int)
    case loseStore(Int)
    case crash(Int)

    /// For a schedule that is read.
    func text(in state: CompanyState) -> String {
        func name(_ device: Int) -> String { "\(state.members[device].source)" }
        switch self {
        case .tap(let device): return "\(name(device)) is tapped"
        case .tick(let device): return "time passes at \(name(device))"
        case .take(let device, let author, let sequence, let teller):
            return "\(name(device)) takes \(author)#\(sequence)\(teller == author ? "" : " from \(teller)")"
        case .begin(let device, let ballot): return "\(name(device)) begins \(ballot.text)"
        case .promise(let device, let ballot): return "\(name(device)) promises \(ballot.text)"
        case .propose(let device, let decree): return "\(name(device)) proposes \(decree.text)"
        case .accept(let device, let vote):
            return "\(name(device)) accepts \(vote.decree.text) under \(vote.ballot.text)"
        case .decide(let device, let decree): return "\(name(device)) installs \(decree.text), decided"
        case .learn(let device, let record): return "\(name(device)) learns \(record.text)"
        case .adopt(let device, let giver): return "\(name(device)) adopts a copy of \(name(giver))"
        case .loseStore(let device): return "\(name(device)) loses its store"
        case .crash(let device): return "\(name(device)) crashes"
        }
    }
}

extension CompanyView {
    /// The number, who is open, and where the closed ones end.
    var text: String {
        let ends = closed.map { "\($0) at \(finals[$0])" }.joined(separator: ", ")
        return "view \(number) of \(open.text)" + (ends.isEmpty ? "" : " closing \(ends)")
    }
}

extension Ballot {
    var text: String {
        "ballot \(round).\(proposer)" + (closing.isEmpty ? "" : " closing \(closing.text)")
            + (isForced ? " by the user's word" : "")
    }
}

extension SmallSet {
    var text: String { "{" + map { "\($0)" }.joined(separator: " ") + "}" }
}
