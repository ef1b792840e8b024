#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshDiscovery
    import MeshToolOutput

    struct DoctorCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "doctor", abstract: "Tells what keeps peers from finding each other on this network.",
            discussion:
                "Changes nothing and needs no rights. The exit status is 1 when something blocks discovery; a warning is none."
        )

        @Option(help: ArgumentHelp("Look at this network interface only.", valueName: "name"))
        var interface: String?

        @Flag(help: "Prints JSON instead of the table: one object with 'blocked', 'findings' and 'rows', on one line.")
        var json = false

        func run() async throws {
            let report = DoctorReport(
                findings: await NetworkDoctor(interfaces: interface.map { [$0] }).examine())
            try json ? ToolOutput.print(json: try report.json()) : ToolOutput.print(report.text())
            if report.blocked { throw ExitCode.failure }
        }
    }

    /// The report that `mesh doctor` prints. Scripts rely on the keys: later versions may add keys but never remove one.
    struct DoctorReport: Encodable {
        let blocked: Bool
        let findings: [NetworkDoctor.Finding]
        /// The findings again, because every result of the tools has rows.
        let rows: [NetworkDoctor.Finding]

        init(findings: [NetworkDoctor.Finding]) {
            self.findings = findings
            rows = findings
            // Without any finding, nothing shows that discovery works.
            blocked = findings.isEmpty || findings.contains { $0.verdict == .blocked }
        }

        func text() -> String {
            let table = Table(
                columns: ["check", "verdict", "interface", "found"],
                rows: findings.map { [$0.id, $0.verdict.rawValue, $0.interface ?? "", $0.found] })
            let advice = findings.compactMap { finding in
                finding.advice.map { "\(finding.interface.map { "\($0): " } ?? "")\($0)" }
            }
            return ([table.text()] + advice.map { "→ \($0)".wrappedToTerminal } + [verdict.wrappedToTerminal]).joined(
                separator: "\n")
        }

        private var verdict: String {
            guard !blocked else { return "Peers cannot be found on this network." }
            let warnings = findings.filter { $0.verdict == .warning }.map(\.id)
            guard !warnings.isEmpty else { return "Peers can be found on this network." }
            return "Nothing here keeps peers from being found, but see the warnings: \(Set(warnings).sorted().list)."
        }
    }
#endif
