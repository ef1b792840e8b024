#if SystemDiscovery || canImport(Darwin)
    import Testing

    @testable import MeshDiscovery

    struct ServiceDirectoryTests {
        private let location = ServiceLocation(instance: "phone", domain: "local.", interfaceIndex: 2)
        private let other = ServiceLocation(instance: "phone", domain: "local.", interfaceIndex: 3)
        private let six = IPAddress.v6(0xFE80_0000_0000_0000, 1)
        private let four = IPAddress.v4(0x0A00_0001)

        @Test("an instance is found once it has a port and an address, whichever comes first") func completeness() {
            for portFirst in [true, false] {
                var directory = ServiceDirectory()
                let isNew = directory.appeared(location)
                #expect(isNew)
                expect(&directory, [])
                if portFirst { directory.resolved(location, port: 1, attributes: []) }
                if !portFirst { directory.address(four, of: location, isPresent: true) }
                expect(&directory, [])
                if !portFirst { directory.resolved(location, port: 1, attributes: []) }
                if portFirst { directory.address(four, of: location, isPresent: true) }
                expect(&directory, [.found(service([(four, 2)]))])
                expect(&directory, [])
            }
        }

        @Test("a report without changes is not repeated") func repetition() {
            var directory = found()
            directory.resolved(location, port: 1, attributes: [])
            directory.address(four, of: location, isPresent: true)
            expect(&directory, [])
        }

        @Test("addresses of all locations are combined, IPv6 first, and removed one by one") func addresses() {
            var directory = found()
            let isNew = directory.appeared(other)
            #expect(isNew)
            directory.resolved(other, port: 1, attributes: [])
            directory.address(six, of: other, isPresent: true)
            expect(&directory, [.found(service([(six, 3), (four, 2)]))])
            directory.address(four, of: location, isPresent: false)
            expect(&directory, [.found(service([(six, 3)]))])
            directory.forgetAddresses(of: other)
            expect(&directory, [.lost(instance: "phone")])
        }

        @Test("a location reported twice is lost once removed twice") func appearances() {
            var directory = found()
            let isNew = directory.appeared(location)
            #expect(!isNew)
            let isGoneAtOnce = directory.disappeared(location)
            #expect(!isGoneAtOnce)
            expect(&directory, [])
            let isGone = directory.disappeared(location)
            #expect(isGone)
            expect(&directory, [.lost(instance: "phone")])
            let isGoneAgain = directory.disappeared(location)
            #expect(!isGoneAgain)
        }

        @Test("the location resolved last decides port and attributes") func newest() {
            var directory = found()
            _ = directory.appeared(other)
            directory.resolved(other, port: 9, attributes: [ServiceAttribute("a", "b")])
            guard case .found(let service) = directory.takeChanges().first else {
                Issue.record("nothing was found")
                return
            }
            #expect(service.port == 9)
            #expect(service.attributes == [ServiceAttribute("a", "b")])
        }

        @Test("an own name isn't reported, whatever its case, until another service has it") func own() {
            var directory = found()
            directory.setOwn("PHONE")
            expect(&directory, [.lost(instance: "phone")])
            directory.setOwn("phone (2)")
            expect(&directory, [.found(service([(four, 2)]))])
        }

        @Test("a flood of locations, and of addresses, is bounded and counted") func bounds() {
            var directory = ServiceDirectory()
            for number in 0..<1000 as Range<UInt32> {
                let location = ServiceLocation(instance: "\(number)", domain: "local.", interfaceIndex: 1)
                let isNew = directory.appeared(location)
                #expect(isNew == (number < UInt32(ServiceDirectory.locationsMax)))
                for ip in 0..<100 as Range<UInt32> { directory.address(.v4(ip), of: location, isPresent: true) }
                directory.resolved(location, port: 1, attributes: [])
            }
            let changes = directory.takeChanges()
            #expect(changes.count == ServiceDirectory.locationsMax)
            for case .found(let service) in changes {
                #expect(service.addresses.count == ServiceDirectory.addressesMax)
            }
            let locations = 1000 - ServiceDirectory.locationsMax
            let addresses = (100 - ServiceDirectory.addressesMax) * ServiceDirectory.locationsMax
            let droppedCount = directory.takeDroppedCount()
            #expect(droppedCount == UInt64(locations + addresses))
        }

        @Test("services are lost with the responder, and its later reports count") func removeAll() {
            var directory = found()
            directory.removeAll()
            expect(&directory, [.lost(instance: "phone")])
            directory.resolved(location, port: 1, attributes: [])
            expect(&directory, [])
            let isNewAgain = directory.appeared(location)
            #expect(isNewAgain)
        }

        private func expect(
            _ directory: inout ServiceDirectory, _ changes: [ServiceDirectory.Change],
            at location: SourceLocation = #_sourceLocation
        ) {
            let found = directory.takeChanges()
            #expect(found == changes, sourceLocation: location)
        }

        private func found() -> ServiceDirectory {
            var directory = ServiceDirectory()
            _ = directory.appeared(location)
            directory.resolved(location, port: 1, attributes: [])
            directory.address(four, of: location, isPresent: true)
            _ = directory.takeChanges()
            return directory
        }

        private func service(_ addresses: [(IPAddress, UInt32)]) -> FoundService {
            FoundService(
                instance: "phone", port: 1,
                addresses: addresses.map { ServiceAddress(ip: $0.0, interfaceIndex: $0.1) }, attributes: [])
        }
    }
#endif
