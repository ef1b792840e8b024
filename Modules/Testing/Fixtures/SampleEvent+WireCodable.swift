import Foundation
public import MeshWire

extension SampleEvent: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the case.
        case pause = 1
        /// The numbers of the other cases.
        case resume, lap
    }
    /// The fields of each case.
    public enum ValueKeys: Int, CodingKey {
        /// The number of the field.
        case at = 1
        /// The number of the other field.
        case index
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        switch self {
        case .pause(let at): fields.writeRecord(.pause, keyedBy: ValueKeys.self) { $0.write(at, .at) }
        case .resume(let at): fields.writeRecord(.resume, keyedBy: ValueKeys.self) { $0.write(at, .at) }
        case .lap(let index, let at):
            fields.writeRecord(.lap, keyedBy: ValueKeys.self) {
                $0.write(at, .at)
                $0.write(index, .index)
            }
        }
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        let key = try fields.readCase()
        self = try fields.readRecord(key, keyedBy: ValueKeys.self) { values throws(WireError) in
            let at = try values.read(.at, as: Date.self)
            return switch key {
            case .pause: .pause(at: at)
            case .resume: .resume(at: at)
            case .lap: .lap(index: try values.read(.index), at: at)
            }
        }
    }
}
