import MeshBase
import MeshBenchmarks
import MeshToolOutput

/// The answer to "Does my state fit?" in one sentence, from the rows of `bench codecs`.
struct FitAnswer: Encodable, Equatable {
    let payload: String
    let limit: String
    let limitBytes: Int
    let fits: Bool
    /// The name of the codec: `compact` if it fits, else the one with the smallest self-contained form.
    let codec: String
    let bytes: Int
    let sentence: String

    /// Returns one answer for each payload, in the order of the rows.
    static func all(in rows: [BenchmarkRow], under limit: PayloadLimit) -> [FitAnswer] {
        var payloads: [String] = []
        var forms: [String: [Form]] = [:]
        for row in rows {
            guard let (payload, form) = Form.read(row) else { continue }
            if forms[payload] == nil { payloads.append(payload) }
            forms[payload, default: []].append(form)
        }
        return payloads.compactMap { payload in
            FitAnswer(payload, forms[payload] ?? [], under: limit)
        }
    }

    private struct Form {
        let codec: String
        let bytes: Int
        /// Number of samples that would fit, by limit.
        let capacity: [String: Int]

        static func read(_ row: BenchmarkRow) -> (payload: String, form: Form)? {
            guard case .text(let payload) = row["payload"], case .text(let codec) = row["codec"],
                case .integer(let bytes) = row["bytes"], case .integers(let capacity) = row["capacity"]
            else { return nil }
            return (payload, Form(codec: codec, bytes: bytes, capacity: capacity))
        }
    }

    /// Returns nil if there are no forms.
    private init?(_ payload: String, _ forms: [Form], under limit: PayloadLimit) {
        // Leaves out forms that depend on a connection's state: the system may keep a payload longer than that.
        let forms = forms.filter { !$0.codec.hasSuffix("+interned") }
        guard let smallest = forms.min(by: { $0.bytes < $1.bytes }) else { return nil }
        let fitting = forms.filter { $0.bytes <= limit.bytes }
        let named = fitting.first { $0.codec == "compact" } ?? smallest
        // Rounds sizes up and limits down, so that a payload that doesn't fit never reads as if it did.
        let share =
            "\(Self.kilobytes(named.bytes + (named.bytes < 10_000 ? 99 : 999))) of \(Self.kilobytes(limit.bytes)) KB"
        var sentence =
            fitting.isEmpty
            ? "\(payload) does not fit \(limit.id): as \(named.codec), the smallest, it is \(share)"
            : "\(payload) fits \(limit.id) as \(named.codec), \(share)"
        let others = forms.filter { $0.bytes > limit.bytes }.map(\.codec)
        if fitting.count == forms.count {
            sentence += "; and in every other form"
        } else if !fitting.isEmpty {
            sentence += "; not as \(others.joined(separator: " or "))"
        }
        if let capacity = named.capacity[limit.id] { sentence += "; there is room for \(capacity.grouped) samples" }
        self.payload = payload
        self.limit = limit.id
        limitBytes = limit.bytes
        fits = !fitting.isEmpty
        codec = named.codec
        bytes = named.bytes
        self.sentence = sentence + "."
    }

    /// Returns kilobytes, rounded down. Below ten, with one digit after the point.
    private static func kilobytes(_ bytes: Int) -> String {
        bytes < 10_000 ? "\(Double(bytes / 100) / 10)" : (bytes / 1000).grouped
    }
}
